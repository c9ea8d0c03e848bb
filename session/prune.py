"""Removing what was ended long ago: session by session, so that nobody waits behind it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from session.connection import Connection
from session.db import SessionDB
from session.deletion import conversation, remove_rows
from session.tables import Tables

TOMBSTONE_DAYS = 30  # by then no other window works in the session any more, whoever forgot it open
DAY_S = 86_400.0
TOMBSTONES_AT_ONCE = 100
WORTHWHILE = 0.25  # of the file's pages unused, from which on it is made smaller

# Ended by a person's own command, long ago, and nothing was said in it since. A continuation goes with its first session.
OLD = """
    SELECT id, title, last_activity_at FROM sessions
    WHERE end_reason IN ('new', 'archived') AND kind != 'compaction' AND pinned = 0
        AND ended_at < ? AND last_activity_at < ?
    """
# One from which another session comes keeps its place.
OLD_TOMBSTONES = """
    SELECT id FROM sessions AS buried WHERE end_reason = 'deleted' AND ended_at < ?
        AND NOT EXISTS (SELECT 1 FROM sessions WHERE parent_id != '' AND parent_id = buried.id)
    """


class Old(Struct, frozen=True):
    """A conversation to be removed. `ids` are those of the session and of what goes on with it, `messages` all in them."""

    id: str
    title: str
    last_activity_at: float
    ids: tuple[str, ...]
    messages: int


class Pruned(Struct, frozen=True):
    """What was removed, or would be. `tombstones` are marks of sessions deleted long ago, which hold nothing."""

    sessions: tuple[Old, ...]
    tombstones: int


def to_prune(tables: Tables, now: float, older_than_days: float) -> Pruned:
    """What `prune` would remove now."""
    before = now - older_than_days * DAY_S
    return Pruned(tuple(old_sessions(tables.connection, before)), len(old_tombstones(tables.connection, now)))


def prune(db: SessionDB, now: float, older_than_days: float) -> Pruned:
    """Delete ended sessions that were last active, and ended, so long ago; pinned ones stay. Blocks.

    A transaction a session. What a person goes on with meanwhile stays. Raises BusyDatabase or FailedWrite.
    """
    before = now - older_than_days * DAY_S
    wanted = db.read(lambda tables: list(old_sessions(tables.connection, before))).result()
    removed = [old for old in wanted if db.write(lambda tables, old=old: remove(tables, old, before, now)).result()]
    tombstones = 0
    while dropped := db.write(lambda tables: drop_tombstones(tables.connection, now)).result():
        tombstones += dropped
    return Pruned(tuple(removed), tombstones)


def remove(tables: Tables, old: Old, before: float, now: float) -> bool:
    """False where it is not as old any more."""
    still = (found.id for found in old_sessions(tables.connection, before, old.id))
    return old.id in still and tables.sessions.delete(old.id, now)


def old_sessions(connection: Connection, before: float, session_id: str = "") -> Iterator[Old]:
    sql, values = (f"{OLD} AND id = ?", (session_id,)) if session_id else (f"{OLD} ORDER BY last_activity_at, id", ())
    for id_, title, last_activity_at in connection.rows(sql, before, before, *values):
        line = conversation(connection, str(id_))
        if not any(is_in_use(connection, member, before) for member in line):
            messages = sum(rows_of(connection, member) for member in line)
            yield Old(str(id_), str(title), float(str(last_activity_at)), tuple(line), messages)


def is_in_use(connection: Connection, session_id: str, before: float) -> bool:
    """Whether a session is kept in sight, was active since, or has an open turn."""
    used = connection.row(
        """
        SELECT 1 FROM sessions WHERE id = ? AND (pinned = 1 OR last_activity_at >= ?
            OR EXISTS (SELECT 1 FROM turns WHERE session_id = sessions.id AND turns.ended_at IS NULL))
        """,
        session_id,
        before,
    )
    return used is not None


def rows_of(connection: Connection, session_id: str) -> int:
    return int(str(connection.value("SELECT count(*) FROM messages WHERE session_id = ?", session_id)))


def old_tombstones(connection: Connection, now: float, limit: int = -1) -> list[str]:
    rows = connection.rows(f"{OLD_TOMBSTONES} LIMIT ?", now - TOMBSTONE_DAYS * DAY_S, limit)
    return [str(id_) for (id_,) in rows]


def drop_tombstones(connection: Connection, now: float) -> int:
    """Forget the next few; how many."""
    dropped = old_tombstones(connection, now, TOMBSTONES_AT_ONCE)
    for session_id in dropped:
        remove_rows(connection, session_id)  # nothing, unless the file was damaged
        connection.run("DELETE FROM sessions WHERE id = ?", session_id)
    return len(dropped)


def make_smaller(db: SessionDB) -> bool:
    """Give unused pages back to the system where they are a quarter of the file or more; whether that was done. Blocks.

    It writes the whole file anew, and needs as much room on the disk again meanwhile. Raises BusyDatabase, FailedWrite.
    """
    if not db.read(lambda tables: is_worthwhile(tables.connection)).result():
        return False
    db.aside(lambda connection: connection.run("VACUUM")).result()
    db.aside(lambda connection: connection.run("PRAGMA wal_checkpoint(TRUNCATE)")).result()
    return True


def is_worthwhile(connection: Connection) -> bool:
    pages, unused = (int(str(connection.value(f"PRAGMA {name}"))) for name in ("page_count", "freelist_count"))
    return pages > 0 and unused >= WORTHWHILE * pages
