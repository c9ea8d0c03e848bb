"""The index of all rows, which follows them: it is brought up to date behind the writes, in transactions of its own.

So no row is ever refused, delayed or lost for the sake of the search. All rows up to the greatest id in the index are in
it, and none above that; `Search.find` reads those itself. The index keeps no text: what leaves it must be told anew.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from session.connection import Connection, Patience
from session.errors import SearchlessSqlite
from session.projection import projected, searched_text

log = logging.getLogger(__name__)

# Contentless: the text stands in `messages` once; what is indexed can be made from a row again at any time.
CREATE = "CREATE VIRTUAL TABLE messages_fts USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2')"
MODULE = "fts5"
PARTS = ("data", "idx", "docsize", "config")  # the tables under it
ADD = "INSERT INTO messages_fts (rowid, text) VALUES (?, ?)"
REMOVE = "INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', ?, ?)"

# What one transaction takes on, so that a write that comes meanwhile waits for milliseconds.
STEP_ROWS = 256
STEP_CHARS = 400_000


class SearchIndex:
    """Brings the index up to date, on the writer's connection and outside of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._began_anew = False

    def catch_up(self) -> bool:
        """Index the next rows. True while more are left.

        An index that turns out to be damaged is begun anew, once; the second time it is left alone.
        """
        try:
            if not is_behind(self._connection):
                return False  # and no lock is taken
            with self._connection.transaction(Patience.HEARTBEAT):
                return index_next(self._connection)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return self._begin_anew(error)

    def _begin_anew(self, error: sqlite3.DatabaseError) -> bool:
        if self._began_anew:
            return False
        self._began_anew = True
        log.warning("The search index was damaged (%s) and is being made anew", error)
        with self._connection.transaction():
            empty(self._connection)
        return True


def require_fts5(path: Path) -> None:
    """Raises SearchlessSqlite where this Python's SQLite has no full-text search."""
    with closing(sqlite3.connect(":memory:")) as memory:
        found = memory.execute("SELECT 1 FROM pragma_module_list WHERE name = ?", (MODULE,)).fetchone()
    if not found:
        raise SearchlessSqlite(path=path, version=sqlite3.sqlite_version)


def indexed_to(connection: Connection) -> int:
    """The greatest id in the index, 0 for an empty one."""
    greatest = connection.value("SELECT max(id) FROM messages_fts_docsize")
    return greatest if isinstance(greatest, int) else 0


def is_behind(connection: Connection) -> bool:
    """Whether there is a row that the index lacks."""
    greatest = connection.value("SELECT max(id) FROM messages")
    return isinstance(greatest, int) and greatest > indexed_to(connection)


def index_next(connection: Connection) -> bool:
    """Index the next rows, up to `STEP_ROWS` and about `STEP_CHARS`. True while more are left."""
    rows = connection.each(
        "SELECT id, role, content, calls FROM messages WHERE id > ? ORDER BY id LIMIT ?",
        indexed_to(connection),
        STEP_ROWS,
    )
    done, chars = 0, 0
    for row_id, role, content, calls in rows:
        text = searched_text(str(role), str(content), str(calls))
        connection.run(ADD, int(str(row_id)), projected(text))
        done, chars = done + 1, chars + len(text)
        if chars >= STEP_CHARS:
            return True
    return done == STEP_ROWS


def unindex_rows(connection: Connection, where: str, *values: str | int) -> None:
    """Take out the rows of a condition, before they are deleted. A damaged index is emptied instead, and fills again."""
    try:
        with flushed(connection):
            sql = f"SELECT id, role, content, calls FROM messages WHERE ({where}) AND id <= ?"
            for row_id, role, content, calls in connection.each(sql, *values, indexed_to(connection)):
                text = searched_text(str(role), str(content), str(calls))
                connection.run(REMOVE, int(str(row_id)), projected(text))
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        log.warning("The search index was damaged (%s) and is being made anew", error)
        empty(connection)


@contextmanager
def flushed(connection: Connection) -> Generator[None, None, None]:
    """FTS5 writes at the end of a savepoint what it would else write, and fail to write, at the commit."""
    connection.run("SAVEPOINT search")
    yield
    connection.run("RELEASE search")


def empty(connection: Connection) -> None:
    """Take everything out of the index, whatever state it is in. Within a transaction."""
    try:
        connection.run("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')")
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        replace_table(connection)


def replace_table(connection: Connection) -> None:
    """A virtual table that cannot be opened cannot be dropped either: its entry is removed by hand, then its parts."""
    connection.run("PRAGMA writable_schema = ON")
    try:
        connection.run("DELETE FROM sqlite_master WHERE name = 'messages_fts'")
    finally:
        connection.run("PRAGMA writable_schema = RESET")
    for part in PARTS:
        connection.run(f"DROP TABLE IF EXISTS messages_fts_{part}")
    connection.run(CREATE)


def is_whole(connection: Connection) -> bool:
    """Whether the index holds every row, no other, and no contradiction. Reads all of it."""
    try:
        connection.run("INSERT INTO messages_fts (messages_fts) VALUES ('integrity-check')")
        indexed = connection.value("SELECT count(*) FROM messages_fts_docsize")
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return False
    return indexed == connection.value("SELECT count(*) FROM messages")


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the index itself is at fault, and not a full disk, a lock or the caller."""
    # FTS5 says "constraint failed" and "SQL logic error" of tables under it that are not as it left them.
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes
