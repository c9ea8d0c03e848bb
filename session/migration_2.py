"""Format 2: lineage, rows that can be set aside, usage, prompts, unsent input, leases and search."""

from __future__ import annotations

from session.connection import Connection

SESSION_COLUMNS = (
    "parent_id TEXT NOT NULL DEFAULT ''",
    "kind TEXT NOT NULL DEFAULT ''",
    "branched_at INTEGER NOT NULL DEFAULT 0",
    "profile TEXT NOT NULL DEFAULT ''",
    "pinned INTEGER NOT NULL DEFAULT 0",
    "archived INTEGER NOT NULL DEFAULT 0",
    "last_read_at REAL NOT NULL DEFAULT 0.0",
    "prompt_hash TEXT NOT NULL DEFAULT ''",
    "rewinds INTEGER NOT NULL DEFAULT 0",
    "revision INTEGER NOT NULL DEFAULT 0",
)

# The long texts stand last: SQLite then finds the short columns without walking through the long ones.
# `position` is the place of a row among the active ones of its session. It is never greater than `id`, and the next one
# of a new row is greater than every `id` there is; only the summary of a compaction takes an older place, and the rows
# that a branch copied keep the places of their originals.
# `rewound_by` is the number of the rewind that set a row aside, 0 for none.
MESSAGES = """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        position INTEGER NOT NULL,
        role TEXT NOT NULL,
        created_at REAL NOT NULL,
        active INTEGER NOT NULL,
        compacted INTEGER NOT NULL,
        rewound_by INTEGER NOT NULL,
        is_summary INTEGER NOT NULL,
        is_mended INTEGER NOT NULL,
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
        refusal TEXT NOT NULL,
        sent TEXT NOT NULL,
        parts TEXT NOT NULL,
        extras TEXT NOT NULL
    )
    """

MOVE_MESSAGES = """
    INSERT INTO messages SELECT id, session_id, id, role, created_at, 1, 0, 0, 0, 0, finish, level, usage, call_id, tool,
        outcome, approval, exit_code, cause, duration_s, calls, content, reasoning, refusal, '', '', ''
    FROM messages_1 ORDER BY id
    """

NEW_TABLES = (
    "CREATE INDEX IF NOT EXISTS messages_by_session ON messages (session_id, active, position)",
    # Queries must say the same words for SQLite to use the two partial indexes.
    "CREATE UNIQUE INDEX IF NOT EXISTS sessions_by_title ON sessions (title) WHERE title != ''",
    """
    CREATE INDEX IF NOT EXISTS sessions_listed ON sessions (last_activity_at DESC, id DESC, archived, workspace)
        WHERE end_reason != 'deleted' AND kind != 'compaction'
    """,
    "CREATE INDEX IF NOT EXISTS sessions_pinned ON sessions (last_activity_at DESC, id DESC) WHERE pinned = 1",
    "CREATE INDEX IF NOT EXISTS sessions_by_parent ON sessions (parent_id) WHERE parent_id != ''",
    "CREATE TABLE IF NOT EXISTS prompts (hash TEXT PRIMARY KEY, text TEXT NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS usage (
        session_id TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        day TEXT NOT NULL,
        task TEXT NOT NULL,
        requests INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        PRIMARY KEY (session_id, provider, model, day, task)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS queued (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id),
        content TEXT NOT NULL,
        created_at REAL NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS queued_by_session ON queued (session_id, id)",
    """
    CREATE TABLE IF NOT EXISTS leases (
        session_id TEXT PRIMARY KEY,
        token TEXT NOT NULL,
        front TEXT NOT NULL,
        host TEXT NOT NULL,
        host_name TEXT NOT NULL,
        boot TEXT NOT NULL,
        pid_namespace TEXT NOT NULL,
        pid INTEGER NOT NULL,
        process_started TEXT NOT NULL,
        taken_at REAL NOT NULL,
        beat_at REAL NOT NULL,
        CHECK (pid > 0 OR (pid = 0 AND process_started = ''))
    )
    """,
    # Contentless: the text stands in `messages` once; what is indexed can be made from a row again at any time.
    """
    CREATE VIRTUAL TABLE IF NOT EXISTS
        messages_fts USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2')
    """,
)

# What a deletion leaves, as later formats have it: the row of the session, so that its id stays taken, and no more.
BURY = (
    "UPDATE sessions SET title = '', cwd = '', workspace = '', route = '', personality = '' WHERE end_reason = 'deleted'",
    *(
        f"DELETE FROM {table} WHERE session_id IN (SELECT id FROM sessions WHERE end_reason = 'deleted')"
        for table in ("messages", "partials", "turns", "started_calls", "approval_requests")
    ),
)


def add_lineage_and_search(connection: Connection) -> None:
    """A second time changes nothing."""
    add_columns(connection, "sessions", SESSION_COLUMNS)
    for statement in BURY:
        connection.run(statement)
    number_equal_titles(connection)
    if "position" not in columns_of(connection, "messages"):
        move_messages(connection)
    for statement in NEW_TABLES:
        connection.run(statement)


def columns_of(connection: Connection, table: str) -> set[str]:
    return {str(name) for (name,) in connection.rows("SELECT name FROM pragma_table_info(?)", table)}


def add_columns(connection: Connection, table: str, columns: tuple[str, ...]) -> None:
    """Add the columns that a table lacks; those it has are left alone."""
    present = columns_of(connection, table)
    for column in columns:
        if column.split()[0] not in present:
            connection.run(f"ALTER TABLE {table} ADD COLUMN {column}")


def number_equal_titles(connection: Connection) -> None:
    """The oldest of several sessions with one title keeps it; the others become "title #2", "title #3", …"""
    taken: set[str] = set()
    for session_id, title in connection.rows("SELECT id, title FROM sessions ORDER BY created_at, id"):
        own, number = str(title), 1
        while own and own in taken:
            number += 1
            own = f"{title} #{number}"
        taken.add(own)
        if own != title:
            connection.run("UPDATE sessions SET title = ? WHERE id = ?", own, str(session_id))


def move_messages(connection: Connection) -> None:
    connection.run("DROP INDEX IF EXISTS sessions_by_activity")
    connection.run("DROP INDEX IF EXISTS messages_by_session")
    connection.run("ALTER TABLE messages RENAME TO messages_1")
    connection.run(MESSAGES)
    connection.run(MOVE_MESSAGES)
    connection.run("DROP TABLE messages_1")
