"""Which tool calls a session holds, which of them began to run, and which still lack a result."""

from __future__ import annotations

from session.connection import Connection
from session.json_columns import UnreadableColumn, decode_calls
from session.models import Approval, Role, ToolCall


class Calls:
    """The calls of a session's assistant rows, and the marks set just before one runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def mark_started(self, session_id: str, call_id: str, approval: Approval, at: float) -> None:
        """Note that a call is about to act, and by whose leave. Raises sqlite3.IntegrityError for a call marked before:
        none runs twice."""
        self._connection.run("INSERT INTO started_calls VALUES (?, ?, ?, ?)", session_id, call_id, approval, at)

    def started(self, session_id: str) -> dict[str, Approval]:
        rows = self._connection.rows("SELECT call_id, approval FROM started_calls WHERE session_id = ?", session_id)
        return {str(call_id): Approval(str(approval)) for call_id, approval in rows}

    def used_ids(self, session_id: str) -> set[str]:
        """Every call id that an assistant row of the session has used."""
        return {call.id for call in self._made(session_id)}

    def unanswered(self, session_id: str) -> list[ToolCall]:
        """The calls without a tool row, in the order the model made them."""
        rows = self._connection.rows(
            "SELECT call_id FROM messages WHERE session_id = ? AND role = ?", session_id, Role.TOOL
        )
        answered = {call_id for (call_id,) in rows}
        return [call for call in self._made(session_id) if call.id not in answered]

    def _made(self, session_id: str) -> list[ToolCall]:
        rows = self._connection.rows(
            "SELECT calls FROM messages WHERE session_id = ? AND role = ? AND calls != '' ORDER BY id",
            session_id,
            Role.ASSISTANT,
        )
        return [call for (column,) in rows for call in readable_calls(column)]


def readable_calls(column: object) -> tuple[ToolCall, ...]:
    """The calls of one row; none where the row is damaged, as it then stands as a notice without calls."""
    try:
        return decode_calls(str(column))
    except UnreadableColumn:
        return ()
