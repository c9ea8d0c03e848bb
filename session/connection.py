"""One SQLite connection, with the few things said to it: run, insert, read rows, and the two kinds of transaction."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

SqlValue = str | int | float | None
SqlRow = tuple[object, ...]
T = TypeVar("T")

PATIENCE_S = 20.0  # how long a write waits for another process's transaction


class Connection:
    """A connection for one thread at a time. Bound text is made legal here, and nowhere else."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        # Bytes that are no UTF-8 would make SQLite's Python module refuse the whole result, not one cell.
        raw.text_factory = partial(str, encoding="utf-8", errors="replace")

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

    def rows(self, sql: str, *values: SqlValue) -> list[SqlRow]:
        return cast("list[SqlRow]", self._execute(sql, values).fetchall())

    def row(self, sql: str, *values: SqlValue) -> SqlRow | None:
        return cast("SqlRow | None", self._execute(sql, values).fetchone())

    def value(self, sql: str, *values: SqlValue) -> object:
        """The first column of the first row, or None."""
        row = self.row(sql, *values)
        return row[0] if row else None

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """All or nothing, with the write lock from the start. Waits for it up to `PATIENCE_S`."""
        patiently(lambda: self.run("BEGIN IMMEDIATE"))
        with self._undone_on_error():
            yield
            patiently(lambda: self.run("COMMIT"))

    @contextmanager
    def snapshot(self) -> Generator[None, None, None]:
        """Several reads that see one state."""
        self.run("BEGIN")
        with self._undone_on_error():
            yield
            self.run("COMMIT")

    def close(self) -> None:
        self._raw.close()

    @contextmanager
    def _undone_on_error(self) -> Generator[None, None, None]:
        try:
            yield
        except BaseException:
            # A full disk makes SQLite roll back by itself; a second ROLLBACK would hide the error behind its own.
            if self._raw.in_transaction:
                self.run("ROLLBACK")
            raise

    def _execute(self, sql: str, values: tuple[SqlValue, ...]) -> sqlite3.Cursor:
        try:
            return self._raw.execute(sql, values)
        except UnicodeEncodeError:
            return self._raw.execute(sql, [legal(value) if isinstance(value, str) else value for value in values])


def legal(text: str) -> str:
    """Text that UTF-8 can carry: halves of a surrogate pair that meet are joined, lone ones become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection's lock is all that stood in the way."""
    # Errors raised by the Python module itself carry no code.
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def patiently(step: Callable[[], T]) -> T:
    """Try a step until no other process is in the way, for `PATIENCE_S`; the pauses are uneven so that two can part."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(0.02, 0.15))
