"""The rows of transcripts."""

from __future__ import annotations

from msgspec.structs import replace

from session.connection import Connection
from session.errors import SessionDeleted
from session.message_row import COLUMNS, decode_message, insert_row
from session.models import Message

ACTIVE = "session_id = ? AND active = 1"
LAST_PLACE = 2**63 - 1


class Messages:
    """Rows in the order they were said. What a row says is never changed, once a model has read it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, message: Message, position: int | None = None) -> Message:
        """Store a row and mark the session active; the row as it now stands in the store, with its id.

        It stands behind all others unless an older place is given. Raises SessionDeleted where the session is not there
        any more, and UnreadableColumn for `parts` or `extras` that could not be read again.
        """
        self._touch(message.session_id, message.created_at)
        row_id, is_mended = insert_row(self._connection, message, position=position)
        return self._read("id = ?", row_id)[0] if is_mended else replace(message, id=row_id)

    def set_sent(self, row_id: int, sent: str) -> None:
        """Let a model get another text of a row than its content: of one that none has read yet."""
        self._connection.run("UPDATE messages SET sent = ? WHERE id = ?", sent, row_id)

    def after(self, session_id: str, message_id: int) -> list[Message]:
        """The rows that were appended later than `message_id`."""
        return self._read(f"{ACTIVE} AND position > ? ORDER BY position", session_id, message_id)

    def all(self, session_id: str) -> list[Message]:
        """The conversation as it stands: its active rows."""
        return self._read(f"{ACTIVE} ORDER BY position", session_id)

    def page(self, session_id: str, before: int | None = None, limit: int = 200) -> list[Message]:
        """The last `limit` active rows, oldest first; or the last of those that stand before the row with the id `before`."""
        place = LAST_PLACE if before is None else self.position(session_id, before)
        return self._read(f"{ACTIVE} AND position < ? ORDER BY position DESC LIMIT ?", session_id, place, limit)[::-1]

    def last_said(self, session_id: str) -> Message | None:
        """The last active row that is no notice."""
        rows = self._read(f"{ACTIVE} AND role != 'notice' ORDER BY position DESC LIMIT 1", session_id)
        return rows[0] if rows else None

    def first_prompt(self, session_id: str) -> Message | None:
        """What the person said first in the conversation as it stands: a `Message.is_prompt`."""
        where = f"{ACTIVE} AND role = 'user' AND is_summary = 0 AND calls = '' ORDER BY position LIMIT 1"
        rows = self._read(where, session_id)
        return rows[0] if rows else None

    def last_answer(self, session_id: str) -> Message | None:
        """The last active row in which a model said something."""
        where = f"{ACTIVE} AND role = 'assistant' AND content != '' ORDER BY position DESC LIMIT 1"
        rows = self._read(where, session_id)
        return rows[0] if rows else None

    def rewound(self, session_id: str, number: int) -> list[Message]:
        """The rows that a rewind of the session set aside."""
        return self._read("session_id = ? AND active = 0 AND rewound_by = ? ORDER BY position", session_id, number)

    def compacted(self, session_id: str, number: int) -> list[Message]:
        """The rows that a compaction of the session set aside."""
        return self._read("session_id = ? AND active = 0 AND compacted = ? ORDER BY position", session_id, number)

    def last_compacted_sent(self, session_id: str, beginning: str) -> str:
        """What a model got of the last prompt that a compaction set aside and that was sent with this beginning, "" for none."""
        sql = (
            "SELECT sent FROM messages WHERE session_id = ? AND active = 0 AND compacted > 0 AND role = 'user' "
            "AND substr(sent, 1, ?) = ? ORDER BY position DESC LIMIT 1"
        )
        found = self._connection.value(sql, session_id, len(beginning), beginning)
        return found if isinstance(found, str) else ""

    def at(self, session_id: str, place: int) -> Message | None:
        """The row of the conversation that stands at a place."""
        rows = self._read(f"{ACTIVE} AND position = ?", session_id, place)
        return rows[0] if rows else None

    def count(self, session_id: str) -> int:
        """How many active rows there are."""
        return int(str(self._connection.value(f"SELECT count(*) FROM messages WHERE {ACTIVE}", session_id)))

    def position(self, session_id: str, message_id: int) -> int:
        """Where a row stands among those of its session; 0, before all of them, for a row that is not there."""
        sql = "SELECT position FROM messages WHERE id = ? AND session_id = ?"
        found = self._connection.value(sql, message_id, session_id)
        return found if isinstance(found, int) else 0

    def _touch(self, session_id: str, at: float) -> None:
        """Mark the session active. This stands before the row: nothing is written into a deleted session (E18)."""
        sql = "UPDATE sessions SET last_activity_at = max(last_activity_at, ?) WHERE id = ? AND end_reason != 'deleted'"
        if self._connection.run(sql, at, session_id) == 0:
            raise SessionDeleted(session_id=session_id)

    def _read(self, where: str, *values: str | int) -> list[Message]:
        rows = self._connection.rows(f"SELECT {COLUMNS} FROM messages WHERE {where}", *values)
        return list(map(decode_message, rows))
