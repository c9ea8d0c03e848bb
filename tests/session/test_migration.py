"""An older store is brought up to date whole or not at all, and a copy of it as it was is kept."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from session.connection import Connection
from session.db import SessionDB
from session.errors import SessionDeleted, UnsavedDatabase
from session.models import ApprovalRequest, Message, Partial, Role, Session, TitleSource
from session.schema import APPLICATION_ID, FIRST_TABLES, MIGRATIONS, USER_VERSION

Start = Callable[..., "subprocess.Popen[str]"]

TITLES = {"a": "Fix it", "b": "Fix it", "c": "", "d": "", "e": "Fix it #2", "gone": "Fix it"}
LONG = "word " * 1_000  # the rows are more than SQLite's cache holds, so that a migration writes before it commits


@pytest.fixture
def old_path(db_path: Path) -> Path:
    make_format_1(db_path)
    return db_path


def make_format_1(path: Path, journal_mode: str = "wal", rows: int = 3) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN")
        for statement in FIRST_TABLES:
            raw.execute(statement)
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        raw.execute("PRAGMA user_version = 1")
        for at, (id_, title) in enumerate(TITLES.items()):
            ended = (9.0, "deleted") if id_ == "gone" else (None, "")
            raw.execute(
                "INSERT INTO sessions VALUES (?, 'tui', ?, 2, '/w', '/w', ?, 5.0, '', 'terse', ?, ?)",
                (id_, title, float(at), *ended),
            )
            raw.executemany(
                """INSERT INTO messages (session_id, role, created_at, finish, level, usage, call_id, tool, outcome,
                approval, exit_code, cause, duration_s, calls, content, reasoning, refusal)
                VALUES (?, 'user', 1.0, '', 'info', '', '', '', '', '', NULL, '', 0.0, '', ?, '', '')""",
                [(id_, text) for text in texts(id_, rows)],
            )
            raw.execute("INSERT INTO partials VALUES (?, 1.0, 'half', '', '')", (id_,))
            raw.execute("INSERT INTO turns VALUES (NULL, ?, 1.0, NULL, '')", (id_,))
            raw.execute("INSERT INTO started_calls VALUES (?, 'call', 'allowed_once', 1.0)", (id_,))
            raw.execute(
                "INSERT INTO approval_requests VALUES (?, ?, 'call', 'terminal', 'ls', 'why', 1.0, '', '', NULL)",
                (f"ask {id_}", id_),
            )
        raw.execute("INSERT INTO state VALUES ('k', 'v')")
        raw.execute("COMMIT")
        raw.execute(f"PRAGMA journal_mode = {journal_mode}")


def texts(session_id: str, rows: int) -> list[str]:
    return [f"{session_id} {number} a\u2028b\0c {LONG}" for number in range(rows)]


def columns(path: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


def all_rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = ("sessions", "messages", "partials", "turns", "started_calls", "approval_requests", "state")
        return {table: raw.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall() for table in tables}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute("PRAGMA user_version").fetchone()[0]


def copies(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if "before" in file.name)


def test_a_new_store_and_one_brought_up_to_date_have_the_same_schema(old_path: Path, tmp_path: Path) -> None:
    new_path = tmp_path / "new.db"
    for path in (old_path, new_path):
        SessionDB.open(path).close()
    assert columns(old_path) == columns(new_path)
    assert version(old_path) == version(new_path) == USER_VERSION


@pytest.fixture
def migrated(old_path: Path) -> Iterator[SessionDB]:
    with closing(SessionDB.open(old_path)) as db:
        yield db


def test_rows_of_format_1_open_to_the_same_records(migrated: SessionDB) -> None:
    session = migrated.read(lambda t: t.sessions.get("a")).result()
    assert session == Session("a", "tui", "Fix it", TitleSource.PERSON, "/w", "/w", 0.0, 5.0, personality="terse")
    said = migrated.read(lambda t: t.messages.all("a")).result()
    assert said == [Message("a", Role.USER, text, 1.0, number) for number, text in enumerate(texts("a", 3), 1)]
    assert migrated.read(lambda t: t.partials.read("a")).result() == Partial("half")
    assert migrated.read(lambda t: t.turns.open_since("a")).result() == 1.0
    asked = migrated.read(lambda t: t.approvals.waiting("a")).result()
    assert asked == [ApprovalRequest("ask a", "a", "call", "terminal", "ls", "why", 1.0)]
    assert migrated.read(lambda t: t.state.get("k")).result() == "v"


def test_a_row_appended_after_a_migration_stands_behind_the_old_ones(migrated: SessionDB) -> None:
    migrated.write(lambda t: t.messages.append(Message("a", Role.USER, "new", 2.0))).result()
    said = migrated.read(lambda t: t.messages.all("a")).result()
    assert [row.content for row in said] == [*texts("a", 3), "new"]


def test_equal_titles_of_format_1_are_told_apart_and_the_oldest_keeps_its_own(migrated: SessionDB) -> None:
    sessions = [migrated.read(lambda t, id_=id_: t.sessions.get(id_)).result() for id_ in "abcde"]
    titles = [session.title for session in sessions if session]
    assert titles == ["Fix it", "Fix it #2", "", "", "Fix it #2 #2"]


def test_E18_a_session_deleted_in_format_1_is_a_tombstone(migrated: SessionDB, old_path: Path) -> None:
    with pytest.raises(SessionDeleted):
        migrated.write(lambda t: t.messages.append(Message("gone", Role.USER, "back", 2.0))).result()
    with closing(sqlite3.connect(old_path)) as raw:
        left = raw.execute("SELECT end_reason, title, cwd, workspace FROM sessions WHERE id = 'gone'").fetchone()
        assert left == ("deleted", "", "", "")
        for table in ("messages", "partials", "turns", "started_calls", "approval_requests"):
            assert raw.execute(f"SELECT count(*) FROM {table} WHERE session_id = 'gone'").fetchone() == (0,)


def test_an_older_store_is_copied_first_and_the_copy_is_named(old_path: Path) -> None:
    before = all_rows(old_path)
    with closing(SessionDB.open(old_path)) as db:
        copy = old_path.with_name("state.db.before-2")
        assert str(copy) in db.note
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert (version(copy), all_rows(copy)) == (1, before)
    with closing(SessionDB.open(old_path)) as db:
        assert db.note == ""


@pytest.fixture
def format_2_path(db_path: Path) -> Path:
    """A store of format 2, whose first session was rewound twice and compacted once."""
    make_format_1(db_path)
    with closing(Connection.to(db_path)) as connection, connection.transaction():
        MIGRATIONS[1](connection)
        connection.run("UPDATE sessions SET pinned = 1, revision = 3, rewinds = 2 WHERE id = 'a'")
        connection.run("PRAGMA user_version = 2")
    return db_path


def test_a_session_of_format_2_has_all_it_had_and_nothing_to_rest_a_figure_on(format_2_path: Path) -> None:
    before = all_rows(format_2_path)
    with closing(SessionDB.open(format_2_path)) as db:
        assert "state.db.before-3" in db.note
        session = db.read(lambda t: t.sessions.get("a")).result()
        known = Session("a", "tui", "Fix it", TitleSource.PERSON, "/w", "/w", 0.0, 5.0, personality="terse")
        assert session == replace(known, is_pinned=True, rewinds=2, revision=3)
        assert [row.content for row in db.read(lambda t: t.messages.all("a")).result()] == texts("a", 3)
    assert (version(format_2_path), copies(format_2_path)) == (USER_VERSION, ["state.db.before-3"])
    assert all_rows(format_2_path.with_name("state.db.before-3")) == before


def test_a_store_of_format_2_comes_to_the_same_schema(format_2_path: Path, tmp_path: Path) -> None:
    new_path = tmp_path / "new.db"
    for path in (format_2_path, new_path):
        SessionDB.open(path).close()
    assert columns(format_2_path) == columns(new_path)


def test_a_new_store_is_not_copied(db_path: Path) -> None:
    SessionDB.open(db_path).close()
    assert [file.name for file in db_path.parent.iterdir()] == ["state.db"]


def test_a_copy_that_stands_there_already_is_not_overwritten(old_path: Path) -> None:
    other = old_path.with_name("state.db.before-2")
    other.write_text("an earlier copy")
    with closing(SessionDB.open(old_path)) as db:
        assert "state.db.before-2-2" in db.note
    assert other.read_text() == "an earlier copy"
    assert version(old_path.with_name("state.db.before-2-2")) == 1


KILLED_MIGRATION = """
import os, signal, sys
from pathlib import Path
from session.connection import Connection
from session.db import SessionDB

run, last = Connection.run, sys.argv[2]
seen = []

def run_or_die(self, sql, *values):
    seen.append(sql)
    if last in sql and any("ADD COLUMN" in earlier for earlier in seen):
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, sql, *values)

Connection.run = run_or_die
SessionDB.open(Path(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("journal_mode", "last"),
    [("wal", "ADD COLUMN profile"), ("wal", "sessions_by_parent"), ("wal", "COMMIT"), ("delete", "COMMIT")],
)
def test_E14_a_migration_that_dies_is_undone_and_the_next_start_works(
    db_path: Path, run_python: Start, journal_mode: str, last: str
) -> None:
    """Killed at a statement of the migration, of which one makes an index over a column that the old schema lacks."""
    make_format_1(db_path, journal_mode, rows=100)
    before = all_rows(db_path)
    assert run_python(KILLED_MIGRATION, db_path, last).wait() == -9
    copy = db_path.with_name("state.db.before-2")
    assert (version(copy), all_rows(copy)) == (1, before)
    assert (version(db_path), all_rows(db_path)) == (1, before)
    with closing(SessionDB.open(db_path)) as db:
        assert str(copy) in db.note
        assert len(db.read(lambda t: t.messages.all("a")).result()) == 100
    assert copies(db_path) == ["state.db.before-2"]


OPEN = """
import sys
from pathlib import Path
from session.db import SessionDB
print("ready", flush=True)
sys.stdin.readline()
db = SessionDB.open(Path(sys.argv[1]))
print(db.note, db.read(lambda t: len(t.messages.all("a"))).result(), sep="|")
db.close()
"""


def test_E14_of_processes_that_start_at_once_one_migrates(db_path: Path, run_python: Start) -> None:
    make_format_1(db_path, rows=100)
    processes = [run_python(OPEN, db_path) for _ in range(4)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate()[0].strip().split("|") for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert [rows for _, rows in outputs] == ["100"] * 4
    assert len([note for note, _ in outputs if note]) == 1
    assert copies(db_path) == ["state.db.before-2"]


OPEN_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
from session.db import SessionDB
from session.errors import UserError
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    SessionDB.open(Path(sys.argv[1]))
except UserError as error:
    print(type(error).__name__, error)
"""


def test_without_room_for_the_copy_nothing_is_changed(db_path: Path, run_python: Start) -> None:
    make_format_1(db_path, rows=20)
    content = db_path.read_bytes()
    output, _ = run_python(OPEN_UNDER_A_LIMIT, db_path).communicate()
    assert output.startswith(f"{UnsavedDatabase.__name__} {db_path} has an older format")
    assert db_path.read_bytes() == content
    assert copies(db_path) == []
