"""Writes that wait are committed together; each still stands or falls alone, and waits no longer than it wants to."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from session.connection import PATIENCE_S, Connection, Patience, SqlValue
from session.db import SessionDB
from session.errors import BusyDatabase, FailedWrite, VanishedDatabase
from session.models import Message, Role, Session, TitleSource
from session.search_index import SearchIndex
from session.tables import Tables

Start = Callable[..., "subprocess.Popen[str]"]


def saying(session_id: str, text: str) -> Callable[[Tables], Message]:
    return lambda tables: tables.messages.append(Message(session_id, Role.USER, text, 1.0))


def contents(db: SessionDB, session_id: str) -> list[str]:
    return [row.content for row in db.read(lambda t: t.messages.all(session_id)).result()]


@contextmanager
def busy_writer(db: SessionDB) -> Generator[None, None, None]:
    """The writer is occupied, so that what is asked for meanwhile waits and is taken on at once."""
    is_busy, may_go_on = threading.Event(), threading.Event()
    db.write(lambda _: (is_busy.set(), may_go_on.wait(10)))
    is_busy.wait(10)
    yield
    may_go_on.set()


@pytest.fixture
def statements(db: SessionDB) -> list[str]:
    """What SQLite is told on the writer's connection from now on."""
    told: list[str] = []
    db.aside(lambda connection: connection._raw.set_trace_callback(told.append)).result()
    return told


def test_writes_that_wait_share_a_transaction(db: SessionDB, session_id: str, statements: list[str]) -> None:
    with busy_writer(db):
        written = [db.write(saying(session_id, str(number))) for number in range(20)]
        statements.clear()
    assert [future.result().content for future in written] == [str(number) for number in range(20)]
    assert statements.count("COMMIT") == 2  # that of the busy one, and that of the twenty
    assert contents(db, session_id) == [str(number) for number in range(20)]


def test_one_write_alone_needs_no_savepoint(db: SessionDB, session_id: str, statements: list[str]) -> None:
    db.write(saying(session_id, "alone")).result()
    said = [statement for statement in statements if not statement.startswith(("INSERT", "UPDATE"))]
    assert said == ["BEGIN IMMEDIATE", "COMMIT"]


def test_a_write_that_raises_undoes_nothing_of_those_it_shares_with(db: SessionDB, session_id: str) -> None:
    def half(tables: Tables) -> None:
        saying(session_id, "half")(tables)
        raise KeyError("on purpose")

    with busy_writer(db):
        before = db.write(saying(session_id, "before"))
        failing = [db.write(half), db.write(saying("nobody", "no such session"))]
        after = db.write(saying(session_id, "after"))
    assert (before.result().content, after.result().content) == ("before", "after")
    assert isinstance(failing[0].exception(), KeyError)
    assert failing[1].exception() is not None
    assert contents(db, session_id) == ["before", "after"]


def test_E08_of_writes_that_find_the_disk_full_together_those_answered_are_stored(
    db: SessionDB, session_id: str
) -> None:
    def only_room_for(pages: int) -> None:
        used = db.aside(lambda c: int(str(c.value("PRAGMA page_count")))).result()
        db.aside(lambda c: c.run(f"PRAGMA max_page_count = {used + pages}")).result()

    only_room_for(20)
    texts = ["small 1", "x" * 1_000_000, "small 2", "y" * 1_000_000, "small 3"]
    with busy_writer(db):
        written = [db.write(saying(session_id, text)) for text in texts]
    errors = [future.exception() for future in written]
    assert contents(db, session_id) == [text for text, error in zip(texts, errors, strict=True) if error is None]
    assert {type(error) for error in errors if error} == {FailedWrite}
    assert errors[1] is not None
    assert errors[4] is None
    only_room_for(10_000)
    db.write(saying(session_id, texts[1])).result()
    assert contents(db, session_id)[-1] == texts[1]


def test_an_error_that_the_function_hides_is_not_taken_for_success(db: SessionDB, session_id: str) -> None:
    """SQLite undid the transaction, and what follows would stand alone."""

    def lose(tables: Tables) -> None:
        saying(session_id, "lost")(tables)
        tables.messages._connection.run("ROLLBACK")

    with pytest.raises(FailedWrite):
        db.write(lose).result()
    with busy_writer(db):
        written: list[Future[object]] = [
            db.write(saying(session_id, "with it")),
            db.write(lose),
            db.write(saying(session_id, "after")),
        ]
    assert [isinstance(future.exception(), FailedWrite) for future in written] == [True, True, False]
    assert contents(db, session_id) == ["after"]


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


@pytest.fixture
def held(db_path: Path, db: SessionDB, session_id: str, run_python: Start) -> subprocess.Popen[str]:
    """Another process in the middle of a write."""
    holder = run_python(HOLD, db_path)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    return holder


def test_each_write_waits_as_long_as_it_wants_and_in_order(
    db: SessionDB, session_id: str, held: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PATIENCE_S, Patience.ROUTINE, 0.2)
    row = db.write(saying(session_id, "row"), patience=Patience.TRANSCRIPT)
    routine = db.write(saying(session_id, "routine"))
    began = time.monotonic()
    with pytest.raises(BusyDatabase):
        db.write(saying(session_id, "beat"), patience=Patience.HEARTBEAT).result(timeout=10)
    assert time.monotonic() - began < 3  # half a second, and much for a busy machine
    assert isinstance(routine.exception(timeout=10), BusyDatabase)
    later = db.write(saying(session_id, "later"), patience=Patience.TRANSCRIPT)
    assert not row.done()
    held.communicate("go\n")
    assert (row.result(timeout=10).content, later.result(timeout=10).content) == ("row", "later")
    assert contents(db, session_id) == ["row", "later"]


@pytest.mark.usefixtures("held")
def test_E01_a_lock_held_for_too_long_stops_no_reader_and_is_told_with_the_files_name(
    db: SessionDB, db_path: Path, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PATIENCE_S, Patience.TRANSCRIPT, 1.0)
    row = db.write(saying(session_id, "row"), patience=Patience.TRANSCRIPT)
    reads = 0
    while not row.done():
        assert contents(db, session_id) == []
        reads += 1
    assert reads > 5
    assert str(row.exception()).startswith(f"{db_path} was kept locked by another program for 1 s")


def test_the_data_version_tells_of_other_processes_only_and_waits_for_none(
    db: SessionDB, db_path: Path, session_id: str, held: subprocess.Popen[str]
) -> None:
    before = db.data_version().result()
    waiting = db.write(saying(session_id, "mine"))
    assert db.data_version().result(timeout=5) == before
    assert not waiting.done()
    held.communicate("go\n")
    waiting.result(timeout=10)
    with closing(sqlite3.connect(db_path)) as other, other:
        other.execute("INSERT INTO state VALUES ('k', 'v')")
    changed = db.data_version().result()
    assert changed != before
    db.write(saying(session_id, "mine again")).result()
    assert db.data_version().result() == changed


def synchronous(tables: Tables) -> object:
    return tables.state._connection.value("PRAGMA synchronous")


def test_a_synced_write_is_on_the_disk_before_it_is_answered(db: SessionDB) -> None:
    """SQLite syncs the log at a commit with FULL (2), and not with NORMAL (1)."""
    levels = [db.write(synchronous, is_synced=is_synced).result() for is_synced in (False, True, False)]
    assert levels == [1, 2, 1]
    with busy_writer(db):
        shared = [db.write(synchronous), db.write(synchronous, is_synced=True)]
    assert [future.result() for future in shared] == [2, 2]


def test_what_stands_aside_of_transactions_may_do_what_they_forbid(db: SessionDB, session_id: str) -> None:
    db.write(saying(session_id, "row")).result()
    db.aside(lambda connection: connection.run("VACUUM")).result()
    with pytest.raises(FailedWrite, match="no such table"):
        db.aside(lambda connection: connection.run("DELETE FROM absent")).result()

    db.aside(lambda connection: connection.run("BEGIN")).result()
    db.write(saying(session_id, "another")).result()
    assert contents(db, session_id) == ["row", "another"]


def test_E15_a_file_that_was_moved_away_is_told_and_works_again_when_it_is_back(
    db: SessionDB, db_path: Path, session_id: str
) -> None:
    elsewhere = db_path.with_name("elsewhere.db")
    db_path.rename(elsewhere)
    with pytest.raises(VanishedDatabase, match="deleted or moved"):
        db.write(saying(session_id, "into nowhere")).result()
    elsewhere.rename(db_path)
    db.write(saying(session_id, "back")).result()
    assert contents(db, session_id) == ["back"]


def test_E15_a_file_that_another_one_replaced_is_told_and_the_other_is_left_alone(
    db: SessionDB, db_path: Path, session_id: str, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    SessionDB.open(other).close()
    other.rename(db_path)
    content = db_path.read_bytes()
    with pytest.raises(VanishedDatabase, match="replaced by another file"):
        db.write(saying(session_id, "into the wrong one")).result()
    assert db_path.read_bytes() == content


def test_E15_a_deleted_log_is_told(db: SessionDB, db_path: Path, session_id: str) -> None:
    db_path.with_name("state.db-wal").unlink()
    with pytest.raises(VanishedDatabase, match="write-ahead log"):
        db.write(saying(session_id, "into nowhere")).result()


WRITE_AND_END = """
import sys
from pathlib import Path
from session.db import SessionDB
from session.models import Message, Role
db = SessionDB.open(Path(sys.argv[1]))
for number in range(200):
    db.write(lambda t, number=number: t.messages.append(Message(sys.argv[2], Role.USER, str(number), 1.0)))
"""


def test_a_process_that_ends_without_closing_stores_what_it_accepted(
    db: SessionDB, db_path: Path, session_id: str, run_python: Start
) -> None:
    assert run_python(WRITE_AND_END, db_path, session_id).wait() == 0
    assert contents(db, session_id) == [str(number) for number in range(200)]


def test_nothing_of_a_write_is_kept_in_memory_once_it_is_answered(db: SessionDB) -> None:
    """A row can have megabytes."""

    class Big:
        pass

    def keep_alive(big: Big) -> Callable[[Tables], Big]:
        return lambda _: big

    big = Big()
    gone = weakref.ref(big)
    db.write(keep_alive(big)).result()
    del big
    db.data_version().result()
    assert gone() is None


def test_a_session_and_its_first_row_may_be_asked_for_together(db: SessionDB) -> None:
    with busy_writer(db):
        db.write(lambda t: t.sessions.create(Session("s", "tui", "", TitleSource.DERIVED, "/", "/", 1.0, 1.0)))
        row = db.write(saying("s", "first"))
    assert row.result().content == "first"


NO_MEMORY = """
import logging, sys
from contextlib import suppress
from pathlib import Path
from session.db import SessionDB
logging.disable()
db = SessionDB.open(Path(sys.argv[1]))
with suppress(MemoryError):
    db.aside(lambda connection: connection.run("PRAGMA hard_heap_limit = 1000")).result(10)
for _ in range(3):
    print(type(db.write(lambda tables: tables.state.put("key", "x" * 5000)).exception(10)).__name__, flush=True)
db.close()
print("closed", flush=True)
"""


def test_without_memory_every_write_is_answered_and_the_store_can_be_closed(db_path: Path, run_python: Start) -> None:
    process = run_python(NO_MEMORY, db_path)
    assert process.communicate(timeout=20)[0].split() == ["MemoryError"] * 3 + ["closed"]


def test_the_writer_outlives_what_nothing_foresaw(
    db: SessionDB, db_path: Path, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> bool:
        raise RuntimeError("on purpose")

    def fail_to_commit(connection: Connection, sql: str, *values: SqlValue) -> int:
        if sql == "COMMIT":
            raise MemoryError
        return run(connection, sql, *values)

    run = Connection.run
    with monkeypatch.context() as faults:
        faults.setattr(SearchIndex, "catch_up", fail)
        faults.setattr(Connection, "run", fail_to_commit)
        lost = db.write(saying(session_id, "lost"))
        assert isinstance(lost.exception(10), MemoryError)
        with closing(sqlite3.connect(db_path, timeout=10)) as other:  # nobody waits for what was left open
            other.execute("BEGIN IMMEDIATE")
    db.write(saying(session_id, "kept")).result(10)
    assert contents(db, session_id) == ["kept"]
