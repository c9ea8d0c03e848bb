"""Format 4: what a question tells beside its text, what came with its answer, and how much a session asks."""

from __future__ import annotations

from session.connection import Connection
from session.migration_2 import add_columns

# `details` is JSON of those who ask: here it is opaque. `rules` are those that were saved with a yes, a line each, and
# `edited` is what the person made of the call before it ran; "" for none.
REQUEST_COLUMNS = (
    "details TEXT NOT NULL DEFAULT ''",
    "rules TEXT NOT NULL DEFAULT ''",
    "edited TEXT NOT NULL DEFAULT ''",
)
SESSION_COLUMNS = ("mode TEXT NOT NULL DEFAULT ''",)


def add_approvals(connection: Connection) -> None:
    """A second time changes nothing."""
    add_columns(connection, "approval_requests", REQUEST_COLUMNS)
    add_columns(connection, "sessions", SESSION_COLUMNS)
