"""A workspace to judge commands in, and the same one inside namespaces of its own, where bash says what they do."""

from __future__ import annotations

import base64
import functools
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.approvals.shell_judge import judge_command
from agent.approvals.shell_rules import NO_RULES, Rules, read_rule
from agent.approvals.shell_verdict import CommandVerdict, Decision, Mode
from agent.tools.base import Workplace

DRIVER = Path(__file__).with_name("sandbox_driver.py")
# The same names in both worlds: what the judge finds on the disk, bash finds.
FILES = {
    "home/.bashrc": "# mine\n",
    "home/.ssh/id_rsa": "CANARY-5d41402a\n",
    "home/.netrc": "CANARY-5d41402a\n",
    "ws/a.py": "import os\nprint('a')\n",
    "ws/b.py": "def b():\n    return 1\n",
    "ws/notes.md": "# notes\nrm -rf is bad\nsrc\n",
    "ws/data.json": '{"a": [1, 2, 3], "b": {"c": "d"}}\n',
    "ws/list.txt": "c\na\nb\na\n",
    "ws/src/main.py": "import sys\n",
    "ws/src/util.py": "x = 1\n",
    "ws/d/keep": "keep\n",
    "ws/.env": "KEY=CANARY-5d41402a\n",
}
PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Bench:
    """A workspace, and short ways to ask about commands in it."""

    place: Workplace

    @property
    def root(self) -> Path:
        return self.place.root

    def judge(self, command: str, *rules: str, mode: Mode = Mode.ASK) -> CommandVerdict:
        """With rules such as "allow git *", "ask git commit", "deny rm"."""
        return judge_command(command, self.place, rules_of(*rules), mode)

    def judge_by(self, command: str, rules: Rules) -> str:
        return str(judge_command(command, self.place, rules).verdict)

    def decides(self, command: str, *rules: str, mode: Mode = Mode.ASK) -> str:
        return str(self.judge(command, *rules, mode=mode).verdict)


def rules_of(*written: str) -> Rules:
    told = [text.partition(" ") for text in written]
    return Rules(tuple(read_rule(Decision(decision), rule) for decision, _, rule in told)) if told else NO_RULES


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home and a workspace in a git repository."""
    return lay_out(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Bench:
    """For tests that leave it as it is."""
    return Bench(_workplace(tmp_path_factory.mktemp("bench"), template))


@pytest.fixture
def own_bench(tmp_path: Path, template: Path) -> Bench:
    """For tests that change it."""
    return Bench(_workplace(tmp_path, template))


def _workplace(folder: Path, template: Path) -> Workplace:
    folder = folder.resolve()
    shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
    root = folder / "ws"
    environ = {"HOME": str(folder / "home"), "PATH": PATH, "LANG": "C.UTF-8"}
    return Workplace(root, root, environ, folder / "outputs")


def lay_out(folder: Path) -> Path:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "ws" / "out").symlink_to("../home")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    git = functools.partial(subprocess.run, cwd=folder / "ws", env=environ, check=True, capture_output=True)
    git(["git", "init", "--quiet", "--template="])
    git(["git", "add", "a.py", "b.py", "notes.md", "src"])
    who = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    git(["git", *who, "commit", "--quiet", "-m", "first"])
    return folder


# --- bash as the judge, where nothing can be harmed


@dataclass
class Sandbox:
    """`effect` is what a command changed or gave away. `why_not` says why nothing can be run here, or ""."""

    why_not: str
    process: subprocess.Popen[bytes] | None = None

    def effect(self, command: str) -> list[str]:
        answer = _ask(self.process, {"cmd": command})
        return [*answer["changed"], *(["a secret"] if answer["leaked"] else [])]


@pytest.fixture(scope="session")
def sandbox(template: Path) -> Iterator[Sandbox]:
    """Own user, process, network and mount namespaces, everything read-only but a small /tmp of its own; no privileges."""
    packed = _packed(template)
    for python in (sys.executable, "/usr/bin/python3"):
        process, why_not = _start(python)
        if not why_not and process:
            _tell(process, {"template": packed})
            yield Sandbox("", process)
            process.kill()
            process.wait()
            return
    yield Sandbox(why_not)


_MOUNTS = """
set -e
mount --make-rprivate /
mount -t tmpfs -o size=64m,mode=755 tmpfs /tmp
if [ -d /dev/shm ]; then mount -t tmpfs -o size=1m,mode=755 tmpfs /dev/shm; fi
cut -d' ' -f5 /proc/self/mountinfo | sort -u | while read -r point; do
    case $point in /tmp|/proc*|/dev/shm) ;; *) mount -o remount,bind,ro "$point" 2>/dev/null || true ;; esac
done
mount -t proc proc /proc
cd /tmp
exec "$0" -I -c "$1"
"""


def _start(python: str) -> tuple[subprocess.Popen[bytes] | None, str]:
    # As root, it becomes nobody first: what is root inside is then nobody outside, who may open no device.
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if missing := [tool for tool in (*drop[:1], "unshare", "mount", python) if shutil.which(tool) is None]:
        return None, f"{missing[0]} is missing"
    apart = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child"]
    process = subprocess.Popen(
        [*drop, *apart, "/bin/sh", "-c", _MOUNTS, python, DRIVER.read_text()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    assert process.stdout and process.stderr
    line = process.stdout.readline()
    if not line:
        process.kill()
        return None, process.stderr.read().decode(errors="replace").strip() or "namespaces are not to be had"
    why_not = json.loads(line)["ready"]
    if why_not:
        process.kill()
    return process, why_not


def _packed(folder: Path) -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("home", "ws"):
            archive.add(folder / name, name, filter=_nobodys)
    return base64.b64encode(packed.getvalue()).decode()


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    return entry


def _tell(process: subprocess.Popen[bytes] | None, record: dict[str, str]) -> None:
    assert process and process.stdin
    process.stdin.write(json.dumps(record).encode() + b"\n")
    process.stdin.flush()


def _ask(process: subprocess.Popen[bytes] | None, record: dict[str, str]) -> dict[str, Any]:
    _tell(process, record)
    assert process and process.stdout
    return json.loads(process.stdout.readline())


@pytest.fixture(scope="session")
def parses() -> Callable[[str], bool]:
    """Whether bash takes the text for a command at all; it runs nothing."""

    def parses(command: str) -> bool:
        done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False, timeout=10)
        return done.returncode == 0

    return parses
