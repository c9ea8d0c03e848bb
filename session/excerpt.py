"""A piece of a conversation around one of its rows, also where compactions set it aside; what was rewound stays out."""

from __future__ import annotations

from session.connection import Connection, SqlValue
from session.message_row import COLUMNS, decode_message
from session.models import Message

SHOWN = "session_id = ? AND (active = 1 OR compacted > 0) AND role IN ('user', 'assistant', 'tool')"


class Excerpts:
    """Reads rows in the order they were said."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def around(self, session_id: str, message_id: int, window: int) -> list[Message]:
        """The row and up to `window` rows on each side of it; none where the session does not show it."""
        place = self._place(session_id, message_id)
        if place is None:
            return []
        before = self._read("position <= ? ORDER BY position DESC LIMIT ?", session_id, place, window + 1)
        return before[::-1] + self._read("position > ? ORDER BY position LIMIT ?", session_id, place, window)

    def ends(self, session_id: str, first: int, last: int) -> list[Message]:
        """The first and the last rows, each once."""
        opening = self._read("1 ORDER BY position LIMIT ?", session_id, first)
        closing = self._read("1 ORDER BY position DESC LIMIT ?", session_id, last)
        known = {row.id for row in opening}
        return opening + [row for row in closing[::-1] if row.id not in known]

    def count(self, session_id: str) -> int:
        return int(str(self._connection.value(f"SELECT count(*) FROM messages WHERE {SHOWN}", session_id)))

    def _place(self, session_id: str, message_id: int) -> int | None:
        found = self._connection.value(
            f"SELECT position FROM messages WHERE {SHOWN} AND id = ?", session_id, message_id
        )
        return found if isinstance(found, int) else None

    def _read(self, rest: str, *values: SqlValue) -> list[Message]:
        rows = self._connection.rows(f"SELECT {COLUMNS} FROM messages WHERE {SHOWN} AND {rest}", *values)
        return list(map(decode_message, rows))
