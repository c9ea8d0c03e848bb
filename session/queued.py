"""What was typed while a turn ran and is not sent yet; it outlives the process (E21)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from session.connection import Connection
from session.deletion import require_living

LAST = "INSERT INTO queued (session_id, content, created_at, images) VALUES (?, ?, ?, ?)"
# SQLite numbers the others from 1 up.
FIRST = """
    INSERT INTO queued (id, session_id, content, created_at, images)
    VALUES ((SELECT min(0, coalesce(min(id), 0)) - 1 FROM queued), ?, ?, ?, ?)
    """


class Queued(Struct, frozen=True):
    """A text that waits for its turn, with the paths of its images. `created_at` is in seconds since the epoch."""

    id: int
    session_id: str
    content: str
    created_at: float
    images: tuple[str, ...] = ()


class Queue:
    """The waiting texts, in the order they were typed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, session_id: str, text: str, at: float, *, images: Sequence[str] = (), is_first: bool = False) -> int:
        """Let a text wait, behind the others or before them; its id, never 0. Raises SessionDeleted."""
        require_living(self._connection, session_id)
        paths = msgspec.json.encode(images).decode() if images else ""
        return self._connection.insert(FIRST if is_first else LAST, session_id, text, at, paths)

    def all(self, session_id: str) -> list[Queued]:
        rows = self._connection.rows(
            "SELECT id, session_id, content, created_at, images FROM queued WHERE session_id = ? ORDER BY id",
            session_id,
        )
        return [
            Queued(int(str(id_)), str(owner), str(text), float(str(at)), _paths(str(images)))
            for id_, owner, text, at, images in rows
        ]

    def renew(self, session_id: str, texts: Sequence[tuple[int, str, Sequence[str]]], at: float) -> list[int]:
        """Put some of the waiting texts at the end, in this order, by rows of their own; the new ids.

        A text comes with the id of its row, 0 for none, and its images. Where that row is gone, another process has sent the text or taken
        it back: it gets no other one, and its id is 0.
        """
        return [
            self.add(session_id, text, at, images=images) if not old or self.remove(old) else 0
            for old, text, images in texts
        ]

    def remove(self, queued_id: int) -> bool:
        """Let it go: it is sent, or taken back. False where that was done before, perhaps by another process."""
        return self._connection.run("DELETE FROM queued WHERE id = ?", queued_id) == 1


def _paths(images: str) -> tuple[str, ...]:
    """A column that can't be read names none: the text is there all the same."""
    try:
        return msgspec.json.decode(images, type=tuple[str, ...]) if images else ()
    except msgspec.DecodeError:
        return ()
