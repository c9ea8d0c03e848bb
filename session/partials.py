"""What unfinished answers have said so far."""

from __future__ import annotations

from session.connection import Connection
from session.models import Partial


class Partials:
    """The pieces of the answer under way, kept apart from the transcript until the answer is whole or given up."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, session_id: str, piece: Partial, at: float) -> None:
        """Add a piece to what is held; costs the same however long the answer already is."""
        self._connection.run(
            "INSERT INTO partials VALUES (?, ?, ?, ?, ?)", session_id, at, piece.content, piece.reasoning, piece.refusal
        )

    def read(self, session_id: str) -> Partial:
        rows = self._connection.rows(
            "SELECT content, reasoning, refusal FROM partials WHERE session_id = ? ORDER BY rowid", session_id
        )
        content, reasoning, refusal = ("".join(str(row[column]) for row in rows) for column in range(3))
        return Partial(content, reasoning, refusal)

    def clear(self, session_id: str) -> None:
        self._connection.run("DELETE FROM partials WHERE session_id = ?", session_id)
