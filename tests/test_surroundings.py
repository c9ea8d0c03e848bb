"""The tests themselves are kept away from the person's own files and see only an allow-listed environment."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

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


def test_a_test_sees_only_what_is_allowed_of_the_machine(tmp_path: Path) -> None:
    """The snapshot report prints the whole environment of the run."""
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "test_shown.py").write_text("import os\ndef test_shown(): print('SEEN', *os.environ, sep='|')\n")
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, **dict.fromkeys(PRIVATE, "private")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "|HOME" in shown
    assert not [name for name in PRIVATE if name in shown]


def test_the_home_of_the_tests_is_not_the_persons(real_home: Path) -> None:
    assert Path.home() != real_home
    assert Path(os.environ["HOME"]) != real_home
