"""Single facts that a profile remembers."""

from __future__ import annotations

from session.connection import Connection

RESTORING = "restoring:"  # and behind it the id of a session: files of it that are being restored
OPTIONS = "options:"  # and behind it the id of a session: what was settled for it alone
DRAFT = "draft:"  # and behind it the id of a session: what is written there and not sent


class State:
    """Verbs on the state table: one text for each key. A key may stand under a prefix that ends in a colon."""

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

    def remove(self, key: str) -> None:
        self._connection.run("DELETE FROM state WHERE key = ?", key)

    def under(self, prefix: str, most: int) -> list[tuple[str, str]]:
        """Keys under a prefix and their texts, the last in the order of keys first."""
        rows = self._connection.rows(
            "SELECT key, value FROM state WHERE key > ? AND key < ? ORDER BY key DESC LIMIT ?", *_bounds(prefix), most
        )
        return [(str(key), str(value)) for key, value in rows]

    def trim(self, prefix: str, most: int) -> None:
        """Keep only so many keys under a prefix, the last ones in their order."""
        first, last = _bounds(prefix)
        self._connection.run(
            "DELETE FROM state WHERE key > ? AND key < ? AND key NOT IN "
            "(SELECT key FROM state WHERE key > ? AND key < ? ORDER BY key DESC LIMIT ?)",
            first,
            last,
            first,
            last,
            most,
        )


def _bounds(prefix: str) -> tuple[str, str]:
    return prefix, f"{prefix[:-1]};"  # ";" follows ":"
