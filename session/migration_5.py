"""Format 5: the images that go with a prompt that waits for its turn."""

from __future__ import annotations

from session.connection import Connection
from session.migration_2 import add_columns

# Their paths as a JSON list, "" for none.
QUEUED_COLUMNS = ("images TEXT NOT NULL DEFAULT ''",)


def add_queued_images(connection: Connection) -> None:
    """A second time changes nothing."""
    add_columns(connection, "queued", QUEUED_COLUMNS)
