"""Deleting a session for good, and what keeps it deleted while another process still works in it (E18)."""

from __future__ import annotations

from session.connection import Connection
from session.errors import SessionDeleted
from session.search_index import unindex_rows
from session.state import DRAFT, OPTIONS, RESTORING, State

TABLES = ("messages", "partials", "turns", "started_calls", "approval_requests", "queued", "leases")

# The row stays as a tombstone: whoever still holds the id can't write under it, and those that came from it keep their
# place. What was spent stays in the usage ledger, which holds no text.
TOMBSTONE = """
    UPDATE sessions SET ended_at = ?, end_reason = 'deleted', title = '', cwd = '', workspace = '', route = '',
        personality = '', prompt_hash = '', pinned = 0, archived = 0, anchors = '', compaction = '', mode = ''
    WHERE id = ?
    """


def delete_session(connection: Connection, session_id: str, at: float) -> bool:
    """Remove all that was said in a conversation and leave tombstones. False where there is no such session (any more).

    What goes on with it under other ids goes with it: nothing but its first session stands in a list.
    """
    if not is_living(connection, session_id):
        return False
    for member in conversation(connection, session_id):
        prompt = str(connection.value("SELECT prompt_hash FROM sessions WHERE id = ?", member))
        remove_rows(connection, member)
        connection.run(TOMBSTONE, at, member)
        drop_prompt(connection, prompt)
    return True


def conversation(connection: Connection, session_id: str) -> list[str]:
    """A session and all that goes on with it."""
    line = [session_id]
    for member in line:
        line += (id_ for id_ in continuations(connection, member) if id_ not in line)
    return line


def continuations(connection: Connection, session_id: str) -> list[str]:
    """The ids under which a conversation directly goes on; branches are conversations of their own."""
    rows = connection.rows(
        "SELECT id FROM sessions WHERE parent_id != '' AND parent_id = ? AND kind = 'compaction' "
        "AND end_reason != 'deleted' ORDER BY created_at, id",
        session_id,
    )
    return [str(id_) for (id_,) in rows]


def remove_rows(connection: Connection, session_id: str) -> None:
    """Remove what every table but `sessions` and `usage` holds of a session."""
    unindex_rows(connection, "session_id = ?", session_id)
    for table in TABLES:
        connection.run(f"DELETE FROM {table} WHERE session_id = ?", session_id)
    for prefix in (DRAFT, OPTIONS, RESTORING):
        State(connection).remove(prefix + session_id)


def drop_prompt(connection: Connection, prompt_hash: str) -> None:
    """Forget a system prompt that no session names any more."""
    connection.run(
        "DELETE FROM prompts WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM sessions WHERE prompt_hash = ?)",
        prompt_hash,
        prompt_hash,
    )


def require_living(connection: Connection, session_id: str) -> None:
    """For writes about a session in other tables. Raises SessionDeleted where it was deleted or never was."""
    if not is_living(connection, session_id):
        raise SessionDeleted(session_id=session_id)


def is_living(connection: Connection, session_id: str) -> bool:
    living = "SELECT 1 FROM sessions WHERE id = ? AND end_reason != 'deleted'"
    return connection.row(living, session_id) is not None
