"""The tests themselves are kept away from the person's own files and see only an allow-listed environment."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PRIVATE = ("SECRET_OF_THE_MACHINE", "OPENAI_API_KEY", "HERMES_HOME")


@pytest.mark.parametrize("folder", [".hermes", ".hermes-tui"])
def test_no_test_opens_the_hermes_home_of_the_person_who_runs_it(folder: str, real_home: Path) -> None:
    with pytest.raises(BaseException, match="a test reached for"):
        (real_home / folder / "config.yaml").open()
    with pytest.raises(BaseException, match="a test reached for"):
        sqlite3.connect(real_home / folder / "state.db")


def test_another_folder_in_that_home_is_not_forbidden(real_home: Path) -> None:
    with pytest.raises(OSError, match="hermes-notes"):
        (real_home / ".hermes-notes" / "missing").open()


@pytest.fixture
def run_inside(tmp_path: Path) -> Callable[..., str]:
    """Run the body of a test in a pytest of its own, under the same conftest; all that it prints."""

    def run(body: str, **how: Any) -> str:
        shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
        (tmp_path / "test_inside.py").write_text(f"import os, subprocess, sys\ndef test_inside(): {body}\n")
        command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", str(tmp_path)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, **how).stdout

    return run


def test_a_test_sees_only_what_is_allowed_of_the_machine(run_inside: Callable[..., str]) -> None:
    """The snapshot report prints the whole environment of the run."""
    environ = {**os.environ, **dict.fromkeys(PRIVATE, "private")}
    shown = run_inside("print('SEEN', *os.environ, sep='|')", env=environ)
    assert "|HOME" in shown
    assert not [name for name in PRIVATE if name in shown]


@pytest.mark.parametrize("ignored", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_what_a_test_starts_does_not_inherit_ignored_signals(
    run_inside: Callable[..., str], ignored: signal.Signals
) -> None:
    """As they are under nohup, or in the background of a script."""
    look = f"import signal; print('ignored:', signal.getsignal({ignored:d}) is signal.SIG_IGN)"
    shown = run_inside(
        f"subprocess.run([sys.executable, '-c', {look!r}])",
        preexec_fn=lambda: signal.signal(ignored, signal.SIG_IGN),
    )
    assert "ignored: False" in shown


def test_the_home_of_the_tests_is_not_the_persons(real_home: Path) -> None:
    assert Path.home() != real_home
    assert Path(os.environ["HOME"]) != real_home
