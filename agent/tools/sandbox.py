"""The sandbox that commands can run in: bubblewrap, with no network and nothing to write to but the workspace.

It stands around a command in addition to approvals and lowers nothing of what is asked about.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from msgspec import Struct

from agent.approvals.paths import real
from agent.approvals.protected_files import is_too_wide
from agent.approvals.shell_programs import Program, Programs
from agent.config.home import Home
from agent.config.terminal_settings import Sandboxing
from agent.literal import visible
from agent.tools.base import Workplace

ENVIRON = {"TMPDIR": "/tmp"}
_PROBE_S = 5.0
_SHOWN_CHARS = 200
# No --new-session: a command leads a session of its own already, without a terminal that it could type into.
# As root, the files of /proc could be written without any capability, so it is read-only as well.
_APART = ("--unshare-all", "--cap-drop", "ALL", "--die-with-parent")
_SYSTEM = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")
_NIX = "/run/current-system"  # the programs of NixOS; what else is in /run are mostly sockets of the system
_EMPTY = ("--tmpfs", "/run", "--ro-bind-try", _NIX, _NIX, "--tmpfs", "/tmp")
# A missing folder is made, empty, to mount over it. A missing file can't be: git fails at an empty one. So it is looked
# for after the command, and put away.
_GIT_FOLDERS, _GIT_FILES = ("hooks", "info"), ("config", "config.worktree", "commondir")
_PUT_AWAY = "put-away"
_LONGEST_LINE_CHARS = 2_000
_SIGNS = re.compile(
    r"(?i)read-only file system|operation not permitted|device or resource busy|network is unreachable|name resolution"
    r"|could not resolve|name or service not known|connection refused|no new privileges|^bwrap: "
    r"|(?:/tmp|/run)/.{0,200}no such file or directory|\b(?:EROFS|EPERM|ENETUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\b"
)


class CannotSandbox(Exception):
    """A command has to run in the sandbox and can't. The text is a clause that says why."""


class Where(Struct, frozen=True):
    """Where a command runs: `wrapper` goes before it, () outside; `why` says why outside although it is on.

    `missing` are files by which git starts programs, and which are not there.
    """

    wrapper: tuple[str, ...] = ()
    why: str = ""
    missing: tuple[Path, ...] = ()


def where_to_run(place: Workplace, cwd: Path, *, is_outside: bool) -> Where:
    """While the sandbox is on; `is_outside`: a person allowed just that. Blocks. Raises CannotSandbox."""
    why = why_not(place)
    if why and place.sandbox.wanted is Sandboxing.REQUIRE:
        raise CannotSandbox(why)
    if why or is_outside:
        return Where(why=why or "as the person allowed")
    git = real(place.root) / ".git"
    missing = [git / name for name in _GIT_FILES if not os.path.lexists(git / name)] if _is_folder(git) else []
    return Where(wrapper(str(_bwrap(place).path), place, cwd), missing=tuple(missing))


def put_away(where: Where) -> str:
    """Rename what a command made of the files that were missing, and say so; "" for none. Blocks."""
    made = [path for path in where.missing if os.path.lexists(path)]
    told = [f"{path} (now {_renamed(path)})" for path in made]
    return f"Put away, since git would start programs by it: {', '.join(told)}." if told else ""


def _renamed(path: Path) -> str:
    names = (f"{path.name}.{_PUT_AWAY}-{number}" for number in count(1))
    name = next(name for name in names if not os.path.lexists(path.with_name(name)))
    path.rename(path.with_name(name))
    return name


def why_not(place: Workplace) -> str:
    """Why no command can run in the sandbox here, as a clause; "" where it can. Blocks: the first time it tries."""
    if sys.platform != "linux":
        return "bubblewrap, which makes it, runs on Linux only"
    if is_too_wide(place):
        return "the folder of this session is your home folder or holds it"
    program = _bwrap(place)
    if program.path is None:
        return "bubblewrap (bwrap) is not installed"
    return f"bubblewrap is not to be trusted: it {program.why}" if program.why else _tried(str(program.path))


def wrapper(bwrap: str, place: Workplace, cwd: Path) -> tuple[str, ...]:
    """The words in front of a command. What lies deeper is mounted later, so that it shows."""
    mounts = sorted(_mounts(place), key=lambda mount: len(mount[0].parts))
    words = [word for _, option in mounts for word in option]
    sealed = [word for home in _homes(place) for word in ("--remount-ro", str(home))]
    return (bwrap, *_APART, *_SYSTEM, *_EMPTY, *words, *sealed, "--chdir", str(real(cwd)))


def sign_in(output: str) -> str:
    """The first line that a command may have written because it was in the sandbox, "" for none."""
    lines = (line for line in output.splitlines() if len(line) <= _LONGEST_LINE_CHARS)
    return next((visible(line.strip())[:_SHOWN_CHARS] for line in lines if _SIGNS.search(line)), "")


# --- inside


def _bwrap(place: Workplace) -> Program:
    return Programs(place).trusted("bwrap", (place.cwd,))


def _mounts(place: Workplace) -> Iterator[tuple[Path, tuple[str, ...]]]:
    root = real(place.root)
    for home in _homes(place):
        yield home, ("--tmpfs", str(home))
    yield root, ("--bind", str(root), str(root))
    outputs = real(place.outputs)
    yield outputs, ("--ro-bind-try", str(outputs), str(outputs))
    yield from _of_git(root / ".git")


def _homes(place: Workplace) -> list[Path]:
    """Our own home with all its profiles: keys are in it."""
    home = real(Home(place.home, "").base.root) if place.home is not None else None
    return [home] if home is not None and home.is_dir() else []


def _of_git(git: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """What git runs by itself stays as it is. The folder is mounted on itself, so that it can't be moved away."""
    if git.is_symlink() or not git.exists():
        return
    yield git, ("--bind" if git.is_dir() else "--ro-bind", str(git), str(git))
    if not git.is_dir():
        return
    for path in (git / name for name in (*_GIT_FOLDERS, *_GIT_FILES)):
        if path.exists() and not path.is_symlink():
            yield path, ("--ro-bind", str(path), str(path))
        elif path.name in _GIT_FOLDERS and not os.path.lexists(path):
            yield path, ("--tmpfs", str(path), "--remount-ro", str(path))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


_lock = threading.Lock()
_tries: dict[str, str] = {}


def _tried(bwrap: str) -> str:
    """Namespaces can be forbidden, or a container be too strict for them: only trying tells. Once in a process."""
    with _lock:
        if bwrap not in _tries:
            _tries[bwrap] = _try(bwrap)
        return _tries[bwrap]


def _try(bwrap: str) -> str:
    import subprocess  # a start need not pay for it

    arguments = (bwrap, *_APART, *_SYSTEM, *_EMPTY, "--chdir", "/", "/bin/sh", "-c", ":")
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_S, cwd="/", env={}, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        said = "it does not end" if isinstance(error, subprocess.TimeoutExpired) else str(error.strerror)
    else:
        if done.returncode == 0:
            return ""
        said = os.fsdecode(done.stderr).strip().partition("\n")[0] or f"exit code {done.returncode}"
    return f"bubblewrap can't make a namespace here ({visible(said)[:_SHOWN_CHARS]})"
