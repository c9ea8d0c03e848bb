"""One session's part of the store, in memory: what goes on there while the file takes no writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from session.connection import Connection, SqlRow, SqlValue
from session.deletion import TABLES
from session.models import Message
from session.schema import MIGRATIONS
from session.tables import Tables

T = TypeVar("T")

FIRST_TEMPORARY_ID = 1 << 62  # far above every id of a file, so that rows keep their order
NEW_ROWS = "FROM messages WHERE session_id = ? AND active = 1 AND id >= ?"


def is_temporary(message_id: int) -> bool:
    """Whether a row stands in memory only. It gets another id when it is stored."""
    return message_id >= FIRST_TEMPORARY_ID


class MemoryStore:
    """Begins as the file is for one session, and takes the same changes. `of` fills it inside a read of the file.

    `revision` is the session's as it was read, None for one that is not in the file; `last_id` the greatest id of any
    row there: what is appended to the file later stands behind it.
    """

    def __init__(self, path: Path, session_id: str) -> None:
        self._session_id = session_id
        self._connection = Connection.to(path, "mode=memory")
        self._tables = Tables(self._connection)
        self._first_id = FIRST_TEMPORARY_ID
        self.revision: int | None = None
        self.last_id = 0

    @classmethod
    def of(cls, tables: Tables, path: Path, session_id: str, temporary_ids: int) -> MemoryStore:
        """A copy of the session; `temporary_ids` were given out before and are not used again."""
        store = cls(path, session_id)
        with store._connection.transaction():
            store._fill(tables.connection, temporary_ids)
        session = tables.sessions.get(session_id)
        store.revision = session.revision if session else None
        store.last_id = int(str(tables.connection.value("SELECT coalesce(max(id), 0) FROM messages")))
        return store

    def run(self, change: Callable[[Tables], T]) -> T:
        """Carry a change out, whole or not at all."""
        with self._connection.transaction():
            return change(self._tables)

    def new_rows(self) -> list[Message]:
        """The rows of the conversation that are not in the file."""
        return [row for row in self._tables.messages.all(self._session_id) if row.id >= self._first_id]

    def said(self) -> int:
        """How many of those are more than notices."""
        return self._number(f"SELECT count(*) {NEW_ROWS} AND role != 'notice'", self._session_id, self._first_id)

    def temporary_ids(self) -> int:
        """How many were given out by now."""
        return self._number("SELECT seq FROM sqlite_sequence WHERE name = 'messages'") - FIRST_TEMPORARY_ID + 1

    def close(self) -> None:
        self._connection.close()

    # --- inside

    def _fill(self, file: Connection, temporary_ids: int) -> None:
        for step in MIGRATIONS:
            step(self._connection)
        self._copy("sessions", file.rows("SELECT * FROM sessions WHERE id = ?", self._session_id))
        for table in TABLES:
            self._copy(table, file.rows(f"SELECT * FROM {table} WHERE session_id = ?", self._session_id))
        self._first_id = FIRST_TEMPORARY_ID + temporary_ids
        self._connection.run("DELETE FROM sqlite_sequence WHERE name = 'messages'")
        self._connection.run("INSERT INTO sqlite_sequence VALUES ('messages', ?)", self._first_id - 1)

    def _copy(self, table: str, rows: list[SqlRow]) -> None:
        for row in rows:
            values: list[SqlValue] = list(row)  # pyright: ignore[reportAssignmentType] - SQLite's own
            self._connection.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", *values)

    def _number(self, query: str, *values: SqlValue) -> int:
        return int(str(self._connection.value(query, *values)))
