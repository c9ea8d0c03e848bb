"""When each turn began, and how it ended."""

from __future__ import annotations

from session.connection import Connection
from session.deletion import require_living
from session.models import ExitReason


class Turns:
    """One row a turn; a row without an end is a turn under way, or one that a kill broke off."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self, session_id: str, at: float) -> None:
        """Raises SessionDeleted."""
        require_living(self._connection, session_id)
        self._connection.run(
            "INSERT INTO turns (session_id, started_at, exit_reason) VALUES (?, ?, '')", session_id, at
        )

    def end(self, session_id: str, reason: ExitReason, at: float) -> None:
        """End the session's open turn; nothing happens where none is open."""
        self._connection.run(
            "UPDATE turns SET ended_at = ?, exit_reason = ? WHERE session_id = ? AND ended_at IS NULL",
            at,
            reason,
            session_id,
        )

    def open_since(self, session_id: str) -> float | None:
        """When the open turn began, or None."""
        started_at = self._connection.value(
            "SELECT started_at FROM turns WHERE session_id = ? AND ended_at IS NULL ORDER BY id DESC", session_id
        )
        return started_at if isinstance(started_at, float) else None
