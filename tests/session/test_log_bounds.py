"""The write-ahead log stays small whoever reads, and a reader never waits for a writer."""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session.db import SessionDB
from session.models import Message, Role
from session.writer import LOG_BYTES

Start = Callable[..., "subprocess.Popen[str]"]

ROWS = min(20_000, 400 * int(os.environ.get("HERMES_SOAK", "5")))


def log_bytes(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return log.stat().st_size if log.exists() else 0


def most_log_bytes(db: SessionDB, session_id: str, rows: int, text: str) -> int:
    """The greatest length of the log while rows are stored one by one."""
    most = 0
    for number in range(rows):
        row = Message(session_id, Role.USER, text, 1.0)
        db.write(lambda t, row=row: t.messages.append(row)).result()
        if number % 20 == 0:
            most = max(most, log_bytes(db.path))
    return most


IDLE = """
import sys
from pathlib import Path
from session.db import SessionDB
db = SessionDB.open(Path(sys.argv[1]))
db.read(lambda t: t.messages.all(sys.argv[2])).result()
print("idle", flush=True)
sys.stdin.readline()
"""


@pytest.mark.soak
def test_E03_the_log_stays_small_beside_idle_processes(
    db: SessionDB, db_path: Path, session_id: str, run_python: Start
) -> None:
    """Five of them beside 20,000 writes, or a tenth of that where there is no time."""
    for _ in range(3):
        idle = run_python(IDLE, db_path, session_id)
        assert idle.stdout and idle.stdout.readline() == "idle\n"
    assert most_log_bytes(db, session_id, ROWS, "x" * 16_000) < 2 * LOG_BYTES


@pytest.fixture
def relay(db: SessionDB) -> Iterator[None]:
    """Two readers of whom one is always in the middle of a read that began before the other's ended."""
    is_over, is_reading = threading.Event(), threading.Event()

    def read(mine: sqlite3.Connection, others: sqlite3.Connection) -> None:
        mine.execute("BEGIN")
        mine.execute("SELECT count(*) FROM sessions").fetchone()
        if others.in_transaction:
            others.execute("COMMIT")

    def run() -> None:
        readers = [sqlite3.connect(db.path, isolation_level=None) for _ in range(2)]
        while not is_over.wait(0.01):  # as long as a read takes
            read(*readers)
            is_reading.set()
            readers.reverse()
        for reader in readers:
            reader.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert is_reading.wait(10)
    yield
    is_over.set()
    thread.join()


@pytest.mark.usefixtures("relay")
def test_E03_the_log_stays_small_where_somebody_always_reads(
    db: SessionDB, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite alone begins the log anew only in a moment in which nobody reads what it was before: here never."""
    monkeypatch.setattr("session.writer.FOLD_REST", 1)  # on a busy machine a reader may hinder an attempt
    assert most_log_bytes(db, session_id, 600, "x" * 100_000) < 2 * LOG_BYTES


def test_E03_the_last_to_close_leaves_no_log(db: SessionDB, db_path: Path, session_id: str) -> None:
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "row", 1.0))).result()
    assert log_bytes(db_path) > 0
    db.close()
    assert [file.name for file in db_path.parent.iterdir()] == ["state.db"]


WRITE_ALWAYS = """
import sys
from pathlib import Path
from session.db import SessionDB
from session.models import Message, Partial, Role
db = SessionDB.open(Path(sys.argv[1]))
print("writing", flush=True)
while True:
    db.write(lambda t: t.partials.append(sys.argv[2], Partial("a piece of an answer"), 1.0)).result()
    db.write(lambda t: t.messages.append(Message(sys.argv[2], Role.USER, "row", 1.0))).result()
"""


def test_E02_a_list_does_not_wait_for_another_process_that_streams(
    db: SessionDB, db_path: Path, new_session: Callable[..., str], run_python: Start
) -> None:
    sessions = [new_session() for _ in range(50)]
    writer = run_python(WRITE_ALWAYS, db_path, sessions[-1])
    assert writer.stdout and writer.stdout.readline() == "writing\n"
    took_s: list[float] = []
    for _ in range(60):
        began = time.monotonic()
        assert len(db.read(lambda t: t.sessions.listing(limit=50)).result()) == 50
        took_s.append(time.monotonic() - began)
    assert statistics.median(took_s) < 0.05
    assert max(took_s) < 0.5
