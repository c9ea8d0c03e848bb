"""What unfinished answers have said so far."""

from __future__ import annotations

from collections.abc import Iterable

from session.connection import Connection
from session.deletion import require_living
from session.models import Partial


class Partials:
    """The pieces of the answer under way, kept apart from the transcript until the answer is whole or given up."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, session_id: str, piece: Partial, at: float) -> None:
        """Add a piece to what is held; costs the same however long the answer already is. Raises SessionDeleted."""
        require_living(self._connection, session_id)
        self._connection.run(
            "INSERT INTO partials VALUES (?, ?, ?, ?, ?)", session_id, at, piece.content, piece.reasoning, piece.refusal
        )

    def put(self, session_id: str, whole: Partial, at: float) -> None:
        """Hold all of an answer in the place of its pieces, which may be behind it. Nothing changes where it says nothing."""
        if whole:
            self.clear(session_id)
            self.append(session_id, whole, at)

    def read(self, session_id: str) -> Partial:
        rows = self._connection.rows(
            "SELECT content, reasoning, refusal FROM partials WHERE session_id = ? ORDER BY rowid", session_id
        )
        return joined(Partial(*map(str, row)) for row in rows)

    def clear(self, session_id: str) -> None:
        self._connection.run("DELETE FROM partials WHERE session_id = ?", session_id)


def joined(pieces: Iterable[Partial]) -> Partial:
    """All that the pieces say, in their order."""
    held = list(pieces)
    return Partial(
        "".join(piece.content for piece in held),
        "".join(piece.reasoning for piece in held),
        "".join(piece.refusal for piece in held),
    )
