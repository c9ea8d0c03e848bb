"""One SQLite connection, with the few things said to it: run, insert, read rows, and the two kinds of transaction."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

SqlValue = str | int | float | None
SqlRow = tuple[object, ...]
T = TypeVar("T")


class Patience(Enum):
    """How much a write may wait for another process's transaction, by what its loss would cost."""

    TRANSCRIPT = auto()
    ROUTINE = auto()
    HEARTBEAT = auto()  # the next one comes soon


PATIENCE_S = {Patience.TRANSCRIPT: 60.0, Patience.ROUTINE: 20.0, Patience.HEARTBEAT: 0.5}
CACHE_KIB = 2_000  # of pages, a connection
DEADLINE_STEPS = 10_000  # of SQLite's machine between two looks at the clock: less than a millisecond


class Connection:
    """A connection for one thread at a time. Bound text is made legal here, and nowhere else."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    @classmethod
    def to(cls, path: Path, query: str = "mode=rw", busy_timeout_s: float = 1.0) -> Connection:
        """Connect to a file by its URI `query`; "mode=rw" never creates one."""
        uri = f"{path.absolute().as_uri()}?{query}"
        return cls(
            sqlite3.connect(uri, uri=True, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
        )

    def run(self, sql: str, *values: SqlValue) -> int:
        """Execute one statement; the number of rows it changed."""
        return self._execute(sql, values).rowcount

    def insert(self, sql: str, *values: SqlValue) -> int:
        """Execute one INSERT; the id of the new row."""
        return self._execute(sql, values).lastrowid or 0

    def insert_exactly(self, sql: str, *values: SqlValue) -> int:
        """The same; raises UnicodeEncodeError for text that would have to be made legal first."""
        return self._raw.execute(sql, values).lastrowid or 0

    def rows(self, sql: str, *values: SqlValue) -> list[SqlRow]:
        return cast("list[SqlRow]", self._read(lambda: self._execute(sql, values).fetchall()))

    def each(self, sql: str, *values: SqlValue) -> Iterator[SqlRow]:
        """The rows one by one, for a table that is too large to hold."""
        with self._decoding_anything():
            # `yield from` would pass its own end on to the cursor, which cannot bear that once the file is closed.
            yield from map(tuple, self._execute(sql, values))

    def row(self, sql: str, *values: SqlValue) -> SqlRow | None:
        return cast("SqlRow | None", self._read(lambda: self._execute(sql, values).fetchone()))

    def value(self, sql: str, *values: SqlValue) -> object:
        """The first column of the first row, or None."""
        row = self.row(sql, *values)
        return row[0] if row else None

    @contextmanager
    def transaction(self, patience: Patience = Patience.ROUTINE) -> Generator[None, None, None]:
        """All or nothing, with the write lock from the start. Waits for it as long as `patience` allows."""
        patiently(lambda: self.run("BEGIN IMMEDIATE"), patience)
        with self._undone_on_error():
            yield
            patiently(lambda: self.run("COMMIT"), patience)

    @contextmanager
    def snapshot(self) -> Generator[None, None, None]:
        """Several reads that see one state."""
        self.run("BEGIN")
        with self._undone_on_error():
            yield
            self.run("COMMIT")

    @contextmanager
    def at_most(self, time_s: float) -> Generator[None, None, None]:
        """Break off a statement that takes longer: it raises sqlite3.OperationalError, its code SQLITE_INTERRUPT."""
        deadline = time.monotonic() + time_s
        self._raw.set_progress_handler(lambda: time.monotonic() > deadline, DEADLINE_STEPS)
        try:
            yield
        finally:
            self._raw.set_progress_handler(None, 0)

    def undo(self) -> None:
        """Roll back what is open. A full disk makes SQLite do so by itself, and then nothing is."""
        if self._raw.in_transaction:
            self.run("ROLLBACK")

    def copy_to(self, other: Connection) -> None:
        """Make the file of `other` the same as this one, page by page, in one state of it."""
        self._raw.backup(other._raw)

    def close(self) -> None:
        self._raw.close()

    @contextmanager
    def _undone_on_error(self) -> Generator[None, None, None]:
        try:
            yield
        except BaseException:
            self.undo()
            raise

    def _read(self, look: Callable[[], object]) -> object:
        """Bytes that are no UTF-8 make SQLite's Python module refuse the whole result: then it is read anew, cell by cell.

        Not always so, as it costs a quarter of the time of a long read.
        """
        try:
            return look()
        except sqlite3.OperationalError as error:
            if not str(error).startswith("Could not decode to UTF-8"):
                raise
        with self._decoding_anything():
            return look()

    @contextmanager
    def _decoding_anything(self) -> Generator[None, None, None]:
        self._raw.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            yield
        finally:
            self._raw.text_factory = str

    def _execute(self, sql: str, values: tuple[SqlValue, ...]) -> sqlite3.Cursor:
        try:
            return self._raw.execute(sql, values)
        except UnicodeEncodeError:
            return self._raw.execute(sql, [legal(value) if isinstance(value, str) else value for value in values])


def legal(text: str) -> str:
    """Text that UTF-8 can carry: halves of a surrogate pair that meet are joined, lone ones become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_busy(error: Exception) -> bool:
    """Whether another connection's lock is all that stood in the way."""
    # Errors raised by the Python module itself carry no code.
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def pause_s(waited_s: float) -> float:
    """How long to leave a lock alone: uneven, so that two who wait can part, and longer once it takes long."""
    return random.uniform(0.02, 0.15) if waited_s < 2.0 else random.uniform(0.25, 1.0)


def patiently(step: Callable[[], T], patience: Patience = Patience.ROUTINE) -> T:
    """Try a step until no other process is in the way, as long as `patience` allows."""
    began = time.monotonic()
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            waited_s = time.monotonic() - began
            if not is_busy(error) or waited_s >= PATIENCE_S[patience]:
                raise
        time.sleep(min(pause_s(waited_s), PATIENCE_S[patience] - waited_s))
