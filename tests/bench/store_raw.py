"""What the store is compared with: the same statements on one plain connection, and nothing around them."""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from session.connection import CACHE_KIB, Connection, SqlValue
from session.journal import KEPT_LOG_BYTES, LOG_PAGES
from session.tables import Tables

Statement = tuple[str, Sequence[SqlValue]]

ROUNDS = 9
BLOCK_S = 0.03  # a block goes on for so long, and is at least one call
# As the store's own connections are: session/journal.py, session/db.py.
PRAGMAS = (
    f"cache_size = -{CACHE_KIB}",
    "fullfsync = ON",
    "synchronous = NORMAL",
    f"wal_autocheckpoint = {LOG_PAGES}",
    f"journal_size_limit = {KEPT_LOG_BYTES}",
    "foreign_keys = ON",
)


class Raw:
    """One plain connection to the same file."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}")

    def read(self, statements: Iterable[Statement]) -> list[tuple[object, ...]]:
        """Run them; the rows of the last one, decoded to nothing."""
        rows: list[tuple[object, ...]] = []
        for sql, values in statements:
            rows = self._connection.execute(sql, values).fetchall()
        return rows

    def commit(self, statements: Iterable[Statement]) -> None:
        """Run them in a transaction of their own."""
        self._connection.execute("BEGIN IMMEDIATE")
        for sql, values in statements:
            self._connection.execute(sql, values)
        self._connection.execute("COMMIT")

    def sync(self, is_synced: bool) -> None:
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")

    def close(self) -> None:
        self._connection.close()


class Recorder(sqlite3.Connection):
    """A connection that notes what is said to it."""

    said: list[Statement]

    def execute(self, sql: str, values: Sequence[SqlValue] = (), /) -> sqlite3.Cursor:  # type: ignore[override]
        self.said.append((sql, tuple(values)))
        return super().execute(sql, values)


def statements_of(path: Path, verbs: Iterable[Callable[[Tables], object]]) -> list[list[Statement]]:
    """What each of the verbs says to SQLite. Nothing of it lasts."""
    recorder = sqlite3.connect(path, isolation_level=None, factory=Recorder)
    recorder.said = []
    with closing(Connection(recorder)) as connection:
        tables, said = Tables(connection), list[list[Statement]]()
        connection.run("BEGIN IMMEDIATE")
        for verb in verbs:
            recorder.said = []
            verb(tables)
            said.append(list(recorder.said))
        connection.undo()
    return said


@dataclass(frozen=True)
class Compared:
    """Two medians of one run: milliseconds of a call, or calls a second."""

    store: float
    raw: float

    @property
    def ratio(self) -> float:
        return self.store / self.raw


def alternate(store: Callable[[], object], raw: Callable[[], object], rounds: int = ROUNDS) -> Compared:
    """Milliseconds of a call, in blocks that take turns; the first of each is not counted."""
    blocks = [(block_ms(store), block_ms(raw)) for _ in range(rounds + 1)][1:]
    return Compared(*(statistics.median(column) for column in zip(*blocks, strict=True)))


def block_ms(call: Callable[[], object]) -> float:
    """The median of as many calls as a block is long."""
    took_ms: list[float] = []
    ends_at = time.perf_counter() + BLOCK_S
    while not took_ms or time.perf_counter() < ends_at:
        began = time.perf_counter()
        call()
        took_ms.append((time.perf_counter() - began) * 1000)
    return statistics.median(took_ms)
