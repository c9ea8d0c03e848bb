"""Format 3: what the context figure rests on, and what compaction knows of a session."""

from __future__ import annotations

from session.connection import Connection
from session.migration_2 import add_columns

# JSON texts, "" for none. Those who write them check what they read: here they are opaque.
SESSION_COLUMNS = ("anchors TEXT NOT NULL DEFAULT ''", "compaction TEXT NOT NULL DEFAULT ''")


def add_context(connection: Connection) -> None:
    """A second time changes nothing."""
    add_columns(connection, "sessions", SESSION_COLUMNS)
