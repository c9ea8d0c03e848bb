"""What a store promises to whoever reads and writes: order, durability, and that nobody waits without need."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from session.connection import PATIENCE_S, Patience
from session.db import SessionDB
from session.errors import BusyDatabase, ClosedDatabase, DamagedDatabase
from session.models import Message, Role, Session, TitleSource
from session.tables import Tables

Start = Callable[..., "subprocess.Popen[str]"]


def said(session_id: str, text: str) -> Message:
    return Message(session_id, Role.USER, text, 1.0)


def contents(db: SessionDB, session_id: str) -> list[str]:
    return [row.content for row in db.read(lambda t: t.messages.all(session_id)).result()]


def test_eight_threads_share_one_writer(db: SessionDB, session_id: str) -> None:
    def write(text: str) -> int:
        def append(tables: Tables) -> int:
            tables.messages.append(said(session_id, text))
            return threading.get_ident()

        return db.write(append).result()

    texts = [f"row {number}" for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        writers = set(threads.map(write, texts))
    assert len(writers) == 1
    assert sorted(contents(db, session_id)) == sorted(texts)


def test_writes_of_one_thread_keep_their_order(db: SessionDB, session_id: str) -> None:
    texts = [f"row {number}" for number in range(100)]
    for text in texts:
        db.write(lambda t, text=text: t.messages.append(said(session_id, text)))
    db.write(lambda t: None).result()
    assert contents(db, session_id) == texts


def test_a_write_that_raises_leaves_nothing(db: SessionDB, session_id: str) -> None:
    def fail(tables: Tables) -> None:
        tables.messages.append(said(session_id, "half"))
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        db.write(fail).result()
    db.write(lambda t: t.messages.append(said(session_id, "whole"))).result()
    assert contents(db, session_id) == ["whole"]


def test_a_read_cannot_write(db: SessionDB, session_id: str) -> None:
    with pytest.raises(Exception, match="readonly database"):
        db.read(lambda t: t.messages.append(said(session_id, "no"))).result()


def test_a_read_sees_one_state(db: SessionDB, session_id: str) -> None:
    """A row stored between two statements of a read does not show in the second."""

    def count_twice(tables: Tables) -> tuple[int, int]:
        before = tables.messages.count(session_id)
        db.write(lambda t: t.messages.append(said(session_id, "meanwhile"))).result()
        return before, tables.messages.count(session_id)

    assert db.read(count_twice).result() == (0, 0)
    assert contents(db, session_id) == ["meanwhile"]


def test_E02_a_read_does_not_wait_for_a_write(db: SessionDB, session_id: str) -> None:
    is_read = threading.Event()

    def write_slowly(tables: Tables) -> bool:
        tables.messages.append(said(session_id, "slow"))
        return is_read.wait(10)

    write = db.write(write_slowly)
    assert contents(db, session_id) == []
    is_read.set()
    assert write.result()


async def test_a_cancelled_wait_does_not_take_back_its_write(db: SessionDB, session_id: str) -> None:
    may_go_on = threading.Event()
    db.write(lambda t: may_go_on.wait(10))
    queued = asyncio.wrap_future(db.write(lambda t: t.messages.append(said(session_id, "kept"))))
    queued.cancel()
    await asyncio.sleep(0)  # the loop passes the cancellation on in its next round
    may_go_on.set()
    await asyncio.to_thread(lambda: db.write(lambda t: None).result())
    assert await asyncio.to_thread(contents, db, session_id) == ["kept"]


def test_close_waits_for_the_writes_asked_for(db_path: Path, db: SessionDB, session_id: str) -> None:
    for number in range(50):
        db.write(lambda t, number=number: t.messages.append(said(session_id, f"row {number}")))
    db.close()
    db.close()
    with closing(SessionDB.open(db_path)) as again:
        assert len(contents(again, session_id)) == 50


def test_a_closed_store_says_so(db: SessionDB) -> None:
    db.close()
    with pytest.raises(ClosedDatabase):
        db.write(lambda t: None)
    with pytest.raises(ClosedDatabase):
        db.read(lambda t: None)


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


def test_E01_a_write_waits_for_another_process(
    db: SessionDB, db_path: Path, session_id: str, run_python: Start
) -> None:
    holder = run_python(HOLD, db_path)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    write = db.write(lambda t: t.messages.append(said(session_id, "patient")))
    with pytest.raises(TimeoutError):
        write.result(timeout=1.5)  # longer than SQLite itself waits
    holder.communicate("go\n")
    write.result(timeout=10)
    assert contents(db, session_id) == ["patient"]


def test_E01_a_write_gives_up_with_a_sentence(
    db: SessionDB, db_path: Path, session_id: str, run_python: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PATIENCE_S, Patience.ROUTINE, 0.2)
    holder = run_python(HOLD, db_path)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    with pytest.raises(BusyDatabase, match="was kept locked"):
        db.write(lambda t: t.messages.append(said(session_id, "late"))).result(timeout=10)


OPEN_AND_WRITE = """
import sys
from pathlib import Path
from session.db import SessionDB
from session.models import Session, TitleSource
db = SessionDB.open(Path(sys.argv[1]))
session = Session(sys.argv[2], "chat", "", TitleSource.DERIVED, "/", "/", 1.0, 1.0)
db.write(lambda t: t.sessions.create(session)).result()
db.close()
"""


def test_E01_eight_processes_may_make_one_store_at_once(db_path: Path, run_python: Start) -> None:
    processes = [run_python(OPEN_AND_WRITE, db_path, f"s{number}") for number in range(8)]
    assert [process.wait() for process in processes] == [0] * 8
    with closing(SessionDB.open(db_path)) as db:
        assert db.read(lambda t: t.sessions.count()).result() == 8


def test_E15_without_shared_memory_another_journal_is_used_and_said(db_path: Path) -> None:
    """A folder stands where the shared memory of the WAL would be."""
    with closing(SessionDB.open(db_path)) as db:
        db.write(lambda t: t.sessions.create(Session("s", "tui", "", TitleSource.DERIVED, "/", "/", 1.0, 1.0))).result()
    db_path.with_name("state.db-shm").mkdir()
    with closing(SessionDB.open(db_path)) as db:
        assert "without a write-ahead log" in db.note
        db.write(lambda t: t.messages.append(said("s", "still stored"))).result()
        assert contents(db, "s") == ["still stored"]
    db_path.with_name("state.db-shm").rmdir()
    with closing(SessionDB.open(db_path)) as db:
        assert db.note == ""
        assert contents(db, "s") == ["still stored"]


def test_E15_a_new_store_without_shared_memory_works(db_path: Path) -> None:
    db_path.with_name("state.db-shm").mkdir()
    with closing(SessionDB.open(db_path)) as db:
        assert db.note
        db.write(lambda t: t.sessions.create(Session("s", "tui", "", TitleSource.DERIVED, "/", "/", 1.0, 1.0))).result()
        assert db.read(lambda t: t.sessions.count()).result() == 1


ENDLESS_WRITER = """
import itertools, sys
from pathlib import Path
from session.db import SessionDB
from session.models import Message, Role, Session, TitleSource
db = SessionDB.open(Path(sys.argv[1]))
db.write(lambda t: t.sessions.create(Session("s", "tui", "", TitleSource.DERIVED, "/", "/", 1.0, 1.0))).result()
for number in itertools.count():
    db.write(lambda t: t.messages.append(Message("s", Role.USER, str(number), 1.0))).result()
    print(number, flush=True)
"""


def test_rows_that_were_answered_survive_a_kill(tmp_path: Path, run_python: Start) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for round_ in range(5):
        path = tmp_path / f"{round_}.db"
        writer = run_python(ENDLESS_WRITER, path)
        assert writer.stdout and writer.stdout.readline() == "0\n"
        time.sleep(chance.uniform(0, 0.1))  # the moment of the kill, not a wait for anything
        writer.send_signal(signal.SIGKILL)
        answered = [0, *(int(line) for line in writer.stdout.read().split("\n")[:-1])]
        with closing(SessionDB.open(path)) as db:
            stored = contents(db, "s")
        # The last line may have been cut, and one more row may have been stored but not answered.
        assert stored[: len(answered)] == [str(number) for number in answered]
        assert len(stored) <= len(answered) + 2


WRITE_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
from session.db import SessionDB
from session.errors import FailedWrite
from session.models import Message, Role
db = SessionDB.open(Path(sys.argv[1]))
def say(text):
    db.write(lambda t: t.messages.append(Message(sys.argv[2], Role.USER, text, 1.0))).result()
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most))
try:
    say("x" * 1_000_000)
except FailedWrite as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
say("small")
db.close()
"""


def test_a_write_that_finds_no_room_is_a_sentence_and_leaves_nothing(
    db: SessionDB, db_path: Path, session_id: str, run_python: Start
) -> None:
    """A limit on the size of files stands in for a full disk."""
    output, _ = run_python(WRITE_UNDER_A_LIMIT, db_path, session_id).communicate()
    assert output.startswith(f"This could not be stored in {db_path}: ")
    assert contents(db, session_id) == ["small"]


def test_a_damaged_page_is_a_sentence(db: SessionDB, db_path: Path, session_id: str) -> None:
    db.write(lambda t: t.messages.append(said(session_id, "x" * 200_000))).result()
    db.close()
    content = db_path.read_bytes()
    db_path.write_bytes(content[:-100_000] + b"\xff" * 100_000)
    with closing(SessionDB.open(db_path)) as damaged, pytest.raises(DamagedDatabase, match="`hermes sessions repair`"):
        damaged.read(lambda t: t.messages.all(session_id)).result()


def test_a_store_is_whole_after_use(db: SessionDB, db_path: Path, session_id: str) -> None:
    db.write(lambda t: t.messages.append(said(session_id, "row"))).result()
    db.close()
    with closing(sqlite3.connect(db_path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
