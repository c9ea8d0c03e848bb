"""A store is looked into without a trace, whoever uses it and however it was left."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from session.db import SessionDB
from session.inspection import inspect
from session.schema import USER_VERSION

WRITE = """
import sys, time
from pathlib import Path
from session.db import SessionDB
db = SessionDB.open(Path(sys.argv[1]))
db.write(lambda tables: tables.state.put("k", "v")).result()
print("written", flush=True)
time.sleep(60)
"""


def traces(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    SessionDB.open(path).close()
    return path


def test_a_store_at_rest_is_described(path: Path) -> None:
    before = traces(path.parent)
    found = inspect(path)
    assert found.is_ours
    assert (found.version, found.is_newer, found.is_wal) == (USER_VERSION, False, True)
    assert (found.check, found.open_turns) == ("ok", 0)
    assert found.size_bytes == path.stat().st_size
    assert traces(path.parent) == before


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_store_in_use_or_left_by_a_killed_process_is_not_touched(path: Path, *, is_killed: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        if is_killed:
            writer.kill()
            writer.wait()
        before = traces(path.parent)
        found = inspect(path)
        assert (found.check, found.wal_bytes > 0) == ("ok", True)
        assert traces(path.parent) == before
        writer.kill()


def test_damage_is_found(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 4096)
    try:
        assert inspect(path).check not in ("ok", "")
    except sqlite3.DatabaseError as error:
        assert "malformed" in str(error)


def test_what_is_no_database_raises(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("not a database, but a text that is long enough for a header" * 9)
    with pytest.raises(sqlite3.DatabaseError):
        inspect(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        inspect(tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_copy_without_the_index_of_its_log_is_not_given_one(path: Path, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("state.db", "state.db-wal"):
            shutil.copy(path.with_name(name), copy / name)
        writer.kill()
    with pytest.raises(sqlite3.OperationalError):
        inspect(copy / "state.db")
    assert sorted(file.name for file in copy.iterdir()) == ["state.db", "state.db-wal"]
