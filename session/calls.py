"""Which tool calls a session holds, which of them began to run, and which still lack a result."""

from __future__ import annotations

from itertools import islice

from session.connection import Connection
from session.deletion import require_living
from session.json_columns import UnreadableColumn, decode_calls
from session.message_row import COLUMNS, decode_message
from session.models import Approval, ToolCall

LATEST_ROWS = 5_000


class Calls:
    """The calls of a session's assistant rows, and the marks set just before one runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def mark_started(self, session_id: str, call_id: str, approval: Approval, at: float) -> None:
        """Note that a call is about to act, and by whose leave. Raises SessionDeleted, and sqlite3.IntegrityError for a
        call marked before: none runs twice."""
        require_living(self._connection, session_id)
        self._connection.run("INSERT INTO started_calls VALUES (?, ?, ?, ?)", session_id, call_id, approval, at)

    def started(self, session_id: str) -> dict[str, Approval]:
        """By whose leave each call of the conversation began to run; those that were set aside are no part of it."""
        rows = self._connection.rows("SELECT call_id, approval FROM started_calls WHERE session_id = ?", session_id)
        made = {call.id for call in self._made(session_id)} if rows else set[str]()
        return {str(call_id): Approval(str(approval)) for call_id, approval in rows if call_id in made}

    def used_ids(self, session_id: str) -> set[str]:
        """Every call id that the session has used, also in rows that were set aside or are damaged."""
        rows = self._connection.rows("SELECT calls FROM messages WHERE session_id = ? AND calls != ''", session_id)
        return {call.id for (column,) in rows for call in calls_as_far_as_readable(column)}

    def since(self, session_id: str, place: int) -> list[str]:
        """The ids of the calls that were made from a place of the conversation on, also of those that were summarised."""
        rows = self._connection.rows(
            "SELECT calls FROM messages WHERE session_id = ? AND position >= ? AND (active = 1 OR compacted > 0) "
            "AND calls != '' ORDER BY position",
            session_id,
            place,
        )
        return [call.id for (column,) in rows for call in calls_as_far_as_readable(column)]

    def unanswered(self, session_id: str) -> list[ToolCall]:
        """The calls of the conversation that no tool row answers, in the order the model made them."""
        rows = self._connection.rows(
            "SELECT call_id FROM messages WHERE session_id = ? AND active = 1 AND role = 'tool'", session_id
        )
        answered = {call_id for (call_id,) in rows}
        return [call for call in self._made(session_id) if call.id not in answered]

    def latest(self, tool: str, count: int) -> list[str]:
        """The arguments of the latest calls of a tool in any session, the newest first. Calls with a secret are left out.

        Only the last rows of the store are looked through.
        """
        rows = self._connection.rows(
            """
            SELECT calls FROM messages WHERE calls != '' AND id > (SELECT max(id) FROM messages) - ? ORDER BY id DESC
            """,
            LATEST_ROWS,
        )
        found = (call for (column,) in rows for call in reversed(calls_as_far_as_readable(column)))
        return list(islice((call.arguments for call in found if call.name == tool and not call.is_masked), count))

    def _made(self, session_id: str) -> list[ToolCall]:
        """The calls of the active rows. A damaged row has none, whatever its column says: it stands as a notice."""
        rows = self._connection.rows(
            f"SELECT {COLUMNS} FROM messages WHERE session_id = ? AND active = 1 AND calls != '' ORDER BY position",
            session_id,
        )
        return [call for row in rows for call in decode_message(row).calls]


def calls_as_far_as_readable(column: object) -> tuple[ToolCall, ...]:
    try:
        return decode_calls(str(column))
    except UnreadableColumn:
        return ()
