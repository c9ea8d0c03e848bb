"""Which files are ours; those that are not stay byte for byte as they are, alone in their folder."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from session.db import SessionDB
from session.errors import ForeignDatabase, NewerDatabase, NotADatabase, UnusableDatabase, UserError
from session.schema import APPLICATION_ID, USER_VERSION

Start = Callable[..., "subprocess.Popen[str]"]


def refused(path: Path, error: type[UserError]) -> str:
    """Open a file that must be refused; the sentence. Holds that nothing in the folder changed."""
    before = snapshot(path.parent)
    with pytest.raises(error) as caught:
        SessionDB.open(path)
    assert snapshot(path.parent) == before
    return str(caught.value)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        file.name: (file.read_bytes(), file.stat().st_mode, file.stat().st_mtime_ns)
        for file in folder.iterdir()
        if file.is_file()
    }


def neighbours_file(path: Path, journal_mode: str = "wal") -> None:
    """A store as hermes-agent leaves it: tables of the same names, user_version 0, application_id 0."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL)")
        connection.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT)")
        connection.execute("INSERT INTO messages VALUES (1, 'a', 'user', 'mine')")


@pytest.mark.parametrize("journal_mode", ["wal", "delete"])
def test_a_store_of_hermes_agent_is_refused(db_path: Path, journal_mode: str) -> None:
    neighbours_file(db_path, journal_mode)
    sentence = refused(db_path, ForeignDatabase)
    assert str(db_path) in sentence
    assert "sessions" in sentence


def test_a_store_of_hermes_agent_that_is_in_use_is_refused(db_path: Path) -> None:
    neighbours_file(db_path)
    with closing(sqlite3.connect(db_path, isolation_level=None)) as original:
        original.execute("INSERT INTO messages VALUES (2, 'a', 'user', 'not yet in the file')")
        refused(db_path, ForeignDatabase)
        assert original.execute("SELECT count(*) FROM messages").fetchone() == (2,)


def test_another_programs_application_id_is_refused(db_path: Path) -> None:
    with closing(sqlite3.connect(db_path)) as connection:
        connection.execute("PRAGMA application_id = 7")
        connection.execute("PRAGMA user_version = 1")
    assert "application id 7" in refused(db_path, ForeignDatabase)


@pytest.mark.parametrize("user_version", [0, -1])
def test_our_mark_without_one_of_our_formats_is_refused(db_path: Path, user_version: int) -> None:
    """Ours get both in one transaction."""
    with closing(sqlite3.connect(db_path)) as connection:
        connection.execute("CREATE TABLE sessions (id TEXT)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {user_version}")
    assert "no format of it" in refused(db_path, ForeignDatabase)


@pytest.mark.parametrize("content", [b"hello", b"sessions: []\n" * 1000, b"\0" * 4096, b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_refused(db_path: Path, content: bytes) -> None:
    db_path.write_bytes(content)
    assert "not a SQLite database" in refused(db_path, NotADatabase)


def newer_file(path: Path) -> None:
    SessionDB.open(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as newer:
        newer.execute("ALTER TABLE sessions ADD COLUMN mood TEXT NOT NULL DEFAULT 'x'")
        newer.execute("PRAGMA user_version = 99")


def test_E13_a_newer_file_is_refused_and_both_versions_are_named(db_path: Path) -> None:
    newer_file(db_path)
    sentence = refused(db_path, NewerDatabase)
    assert "99" in sentence
    assert f"up to {USER_VERSION}" in sentence


NEWER_THEN_KILLED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA user_version = 99")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_E13_a_newer_version_that_only_the_log_tells_of_is_refused(db_path: Path, run_python: Start) -> None:
    """The newer program was killed before its log was folded into the file: neither may be touched."""
    SessionDB.open(db_path).close()
    run_python(NEWER_THEN_KILLED, db_path).wait()
    log = db_path.with_name("state.db-wal")
    before = (db_path.read_bytes(), log.read_bytes())
    with pytest.raises(NewerDatabase):
        SessionDB.open(db_path)
    assert (db_path.read_bytes(), log.read_bytes()) == before


def test_an_empty_file_is_ours_to_use(db_path: Path) -> None:
    db_path.touch(mode=0o644)
    with closing(SessionDB.open(db_path)) as db:
        assert db.read(lambda t: t.sessions.count()).result() == 0


def test_a_store_is_readable_by_its_owner_only(db_path: Path) -> None:
    with closing(SessionDB.open(db_path)):
        modes = {stat.S_IMODE(file.stat().st_mode) for file in db_path.parent.iterdir()}
    assert modes == {0o600}


def test_a_folder_in_place_of_the_file_is_refused(db_path: Path) -> None:
    db_path.mkdir()
    assert "not a file" in refused(db_path, UnusableDatabase)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnusableDatabase, match="No such file or directory"):
        SessionDB.open(tmp_path / "gone" / "state.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_refused(db_path: Path) -> None:
    SessionDB.open(db_path).close()
    db_path.chmod(0o400)
    refused(db_path, UnusableDatabase)


OPEN_AS_NOBODY = """
import os, sys
from pathlib import Path
from session.db import SessionDB
from session.errors import UserError
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    SessionDB.open(Path(sys.argv[1]))
except UserError as error:
    print(error)
"""


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that everybody may look into and nobody may write, with a store that may be written."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        SessionDB.open(folder / "state.db").close()
        if os.geteuid() == 0:
            os.chown(folder / "state.db", 65534, 65534)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_E15_a_folder_that_may_not_be_written_is_told_with_what_to_do(
    read_only_folder: Path, run_python: Start
) -> None:
    """No log and no shared memory can be made there, and no journal in their place."""
    before = snapshot(read_only_folder)
    output, _ = run_python(OPEN_AS_NOBODY, read_only_folder / "state.db").communicate()
    assert output.startswith(f"{read_only_folder}/state.db cannot be used: its folder may not be written.")
    assert "set HERMES_HOME to another folder" in output
    assert snapshot(read_only_folder) == before


def test_a_cut_off_file_of_ours_is_a_sentence_not_a_crash(db_path: Path) -> None:
    SessionDB.open(db_path).close()
    db_path.write_bytes(db_path.read_bytes()[:6000])
    with pytest.raises(UnusableDatabase, match="malformed"):
        SessionDB.open(db_path)


KILLED_WHILE_CREATING = """
import os, signal, sys
from pathlib import Path
from session import schema
from session.connection import Connection

path = Path(sys.argv[1])
path.touch()
connection = Connection.to(path)
connection.run("PRAGMA cache_size = 1")
connection.run("PRAGMA cache_spill = 1")
connection.run("BEGIN IMMEDIATE")
schema.create_first_tables(connection)
connection.run(f"PRAGMA application_id = {schema.APPLICATION_ID}")
connection.run("CREATE TABLE filler (x)")
for _ in range(50):
    connection.run("INSERT INTO filler VALUES (?)", "x" * 3000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_left_by_a_kill_during_its_creation_is_made_anew(db_path: Path, run_python: Start) -> None:
    """The journal is there and, of the pages, only the first: SQLite writes them in order."""
    run_python(KILLED_WHILE_CREATING, db_path).wait()
    assert db_path.with_name("state.db-journal").stat().st_size > 0
    whole = db_path.with_name("whole.db")
    SessionDB.open(whole).close()
    db_path.write_bytes(whole.read_bytes()[:4096])
    with closing(SessionDB.open(db_path)) as db:
        assert db.read(lambda t: t.sessions.count()).result() == 0
