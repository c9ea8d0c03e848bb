"""Where a search finds rows that may say what is wanted: in the index, among those it lacks yet, or by reading all."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal
from unicodedata import normalize

from session.connection import Connection, SqlValue
from session.search_index import indexed_to, is_damage
from session.search_query import Query
from session.snippets import folded

Order = Literal["best", "newest", "oldest"]
IdRange = tuple[int, int]

PENDING_ROWS = 2_000  # how many rows that the index lacks are read instead
SCAN_ROWS = 4_000  # what one statement of a scan goes through
FIRST_BATCH, LAST_BATCH = 32, 900  # a page is often filled by the first; older SQLites bind 999 values
ORDER_BY = {"best": "rank", "newest": "rowid DESC", "oldest": "rowid"}


class DamagedIndex(Exception):
    """The index cannot be read. `find` reads the rows themselves then."""


class Deadline:
    """How long a search goes on through rows one by one, from the first on. `was_met`: it was not stopped by it."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._end: float | None = None
        self.was_met = True

    def is_over(self) -> bool:
        now = time.monotonic()
        if self._end is None:  # what the index takes to answer is not counted
            self._end = now + self._patience_s
        self.was_met = now <= self._end
        return not self.was_met


class Candidates:
    """Ids of rows in the order of a search, in batches that are not waited for longer than needed.

    Those of `pending` and `all` are yet to be read for what they say.
    """

    def __init__(self, connection: Connection, asked: Query, order: Order, ids: IdRange, deadline: Deadline) -> None:
        self._connection = connection
        self._asked = asked
        self._order: Order = order
        self._first_id, self._last_id = ids
        self._deadline = deadline

    def indexed(self) -> Iterator[list[int]]:
        """Rows that have the words of the query. The index is asked once, for as many as are taken. Raises DamagedIndex."""
        sql = f"""SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? AND rowid BETWEEN ? AND ?
            ORDER BY {ORDER_BY[self._order]}"""
        try:
            yield from batches(self._ids(sql, self._asked.expression, self._first_id, self._last_id))
        except sqlite3.DatabaseError as error:
            raise told(error) from error

    def pending(self) -> list[int]:
        """Rows that the index lacks yet, one more than `PENDING_ROWS` if there are more. Raises DamagedIndex."""
        try:
            first = max(self._first_id, indexed_to(self._connection) + 1)
        except sqlite3.DatabaseError as error:
            raise told(error) from error
        sql = "SELECT id FROM messages WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?"
        ids = list(self._ids(sql, first, self._last_id, PENDING_ROWS + 1))
        return ids[::-1] if self._order == "oldest" else ids

    def all(self) -> Iterator[list[int]]:
        """Every row that can have the pieces of the query, until the deadline."""
        condition, values = may_contain(longest_sign(self._asked))
        direction = "ASC" if self._order == "oldest" else "DESC"
        sql = f"SELECT id FROM messages WHERE id BETWEEN ? AND ? AND {condition} ORDER BY id {direction}"
        for first, last in self._windows():
            yield list(self._ids(sql, first, last, *values))
            if self._deadline.is_over():
                return

    def _windows(self) -> Iterator[IdRange]:
        greatest = self._connection.value("SELECT max(id) FROM messages")
        first, last = max(self._first_id, 1), min(self._last_id, greatest if isinstance(greatest, int) else 0)
        starts = range(first, last + 1, SCAN_ROWS)
        for start in starts if self._order == "oldest" else reversed(starts):
            yield start, min(start + SCAN_ROWS - 1, last)

    def _ids(self, sql: str, *values: SqlValue) -> Iterator[int]:
        return (int(str(id_)) for (id_,) in self._connection.each(sql, *values))


def batches(ids: Iterable[int]) -> Iterator[list[int]]:
    """The ids in lists, each longer than the one before."""
    remaining = iter(ids)
    size = FIRST_BATCH
    while batch := list(islice(remaining, size)):
        yield batch
        size = min(size * 2, LAST_BATCH)


def told(error: sqlite3.DatabaseError) -> Exception:
    return DamagedIndex(str(error)) if is_damage(error) else error


def longest_sign(asked: Query) -> str:
    """A text that SQLite can look for by itself: the same in every way to write it. "" where there is none."""
    signs = [piece.text for piece in asked.pieces if is_written_one_way(piece.text)]
    return max(signs, key=len, default="")


def is_written_one_way(text: str) -> bool:
    is_folded = folded(text) == text and not any(char.isalpha() or char.isspace() for char in text)
    return is_folded and normalize("NFD", text) == text and "'" not in text and '"' not in text


def may_contain(sign: str) -> tuple[str, tuple[str, ...]]:
    """The condition for a row that may contain a text, also within a call: as JSON in JSON, perhaps with escapes."""
    if not sign:
        return "1", ()
    once = json.dumps(sign, ensure_ascii=False)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    within_calls = "instr(calls, ?) OR instr(calls, ?) OR instr(calls, '\\u')"
    return f"(instr(content, ?) OR (calls != '' AND ({within_calls})))", (sign, once, twice)
