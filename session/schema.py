"""The tables as data, and the ordered steps that bring an older file up to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from session.backup import keep_copy
from session.connection import Connection
from session.errors import NewerDatabase, UnsavedDatabase
from session.migration_2 import add_lineage_and_search
from session.migration_3 import add_context
from session.migration_4 import add_approvals
from session.migration_5 import add_queued_images

APPLICATION_ID = 0x48724D74  # "HrMt": what tells our files from those of other programs

# Format 1, as it was. "" stands for "none" in text columns; `calls`, `usage` and `route` are JSON.
FIRST_TABLES = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        source TEXT NOT NULL,
        title TEXT NOT NULL,
        title_source INTEGER NOT NULL,
        cwd TEXT NOT NULL,
        workspace TEXT NOT NULL,
        created_at REAL NOT NULL,
        last_activity_at REAL NOT NULL,
        route TEXT NOT NULL,
        personality TEXT NOT NULL,
        ended_at REAL,
        end_reason TEXT NOT NULL
    )
    """,
    "CREATE INDEX sessions_by_activity ON sessions (last_activity_at)",
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        role TEXT NOT NULL,
        created_at REAL NOT NULL,
        finish TEXT NOT NULL,
        level TEXT NOT NULL,
        usage TEXT NOT NULL,
        call_id TEXT NOT NULL,
        tool TEXT NOT NULL,
        outcome TEXT NOT NULL,
        approval TEXT NOT NULL,
        exit_code INTEGER,
        cause TEXT NOT NULL,
        duration_s REAL NOT NULL,
        calls TEXT NOT NULL,
        content TEXT NOT NULL,
        reasoning TEXT NOT NULL,
        refusal TEXT NOT NULL
    )
    """,
    "CREATE INDEX messages_by_session ON messages (session_id, id)",
    # No index: a piece is appended several times a second and the table is empty between turns.
    """
    CREATE TABLE partials (
        session_id TEXT NOT NULL REFERENCES sessions (id),
        at REAL NOT NULL,
        content TEXT NOT NULL,
        reasoning TEXT NOT NULL,
        refusal TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        started_at REAL NOT NULL,
        ended_at REAL,
        exit_reason TEXT NOT NULL
    )
    """,
    "CREATE INDEX turns_open ON turns (session_id) WHERE ended_at IS NULL",
    """
    CREATE TABLE started_calls (
        session_id TEXT NOT NULL REFERENCES sessions (id),
        call_id TEXT NOT NULL,
        approval TEXT NOT NULL,
        started_at REAL NOT NULL,
        PRIMARY KEY (session_id, call_id)
    )
    """,
    """
    CREATE TABLE approval_requests (
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        call_id TEXT NOT NULL,
        tool TEXT NOT NULL,
        shown TEXT NOT NULL,
        why TEXT NOT NULL,
        opened_at REAL NOT NULL,
        approval TEXT NOT NULL,
        cause TEXT NOT NULL,
        settled_at REAL
    )
    """,
    "CREATE INDEX approval_requests_by_call ON approval_requests (session_id, call_id)",
    "CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)


def create_first_tables(connection: Connection) -> None:
    for statement in FIRST_TABLES:
        connection.run(statement)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    create_first_tables,
    add_lineage_and_search,
    add_context,
    add_approvals,
    add_queued_images,
)
USER_VERSION = len(MIGRATIONS)


def user_version(connection: Connection) -> int:
    version = connection.value("PRAGMA user_version")
    return version if isinstance(version, int) else 0


def migrate(connection: Connection, path: Path) -> Path | None:
    """Bring the file up to `USER_VERSION`, all steps in one transaction; the copy of an older file that was kept.

    A new file is made before WAL is switched on: nobody sees it without its mark and all tables. Of several processes,
    one takes the steps. Raises NewerDatabase or UnsavedDatabase.
    """
    copy, version = None, user_version(connection)
    if version < USER_VERSION:
        with connection.transaction():
            version = user_version(connection)  # another process may have been here while this one waited
            if 0 < version < USER_VERSION:
                copy = keep_copy(path, str(version + 1), UnsavedDatabase)
            if version < USER_VERSION:
                take_steps(connection, version)
    if version > USER_VERSION:
        raise NewerDatabase(path=path, found=version, known=USER_VERSION)
    return copy


def take_steps(connection: Connection, version: int) -> None:
    for step in MIGRATIONS[version:]:
        step(connection)
    connection.run(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.run(f"PRAGMA user_version = {USER_VERSION}")
