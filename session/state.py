"""Single facts that a profile remembers."""

from __future__ import annotations

from session.connection import Connection


class State:
    """Verbs on the state table: one text for each key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, key: str) -> str:
        """The text of a key, "" where there is none."""
        found = self._connection.value("SELECT value FROM state WHERE key = ?", key)
        return found if isinstance(found, str) else ""

    def put(self, key: str, value: str) -> None:
        self._connection.run(
            "INSERT INTO state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            key,
            value,
        )
