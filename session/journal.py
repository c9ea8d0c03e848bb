"""How the store's file is written: WAL where it works, else a rollback journal and a sentence about it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from session.connection import CACHE_KIB, Connection, is_busy, patiently
from session.schema import migrate

BUSY_TIMEOUT_S = 0.25  # how long SQLite itself waits for a lock before the writer looks around again
LOG_PAGES = 1_000  # after so many, SQLite folds the log into the file as far as readers let it
KEPT_LOG_BYTES = 4_000_000  # what the log shrinks to again when it was longer


class Opened(Struct, frozen=True):
    """A connection to write with, its tables in place. `note` says what a person should know, "" for nothing."""

    connection: Connection
    is_wal: bool
    note: str


def open_writer(path: Path) -> Opened:
    """Open a file that is ours or empty, and bring its tables up to date.

    WAL needs memory shared between processes, which network file systems do not have (charmbracelet/crush#3461).
    Raises sqlite3.DatabaseError, NewerDatabase or UnsavedDatabase.
    """
    connection = connect(path)
    try:
        copy, reason = try_wal(connection, path)
    except BaseException:
        connection.close()
        raise
    if reason:
        connection.close()
        connection, later_copy = open_without_wal(path)
        copy = copy or later_copy
    return Opened(connection, not reason, " ".join(filter(None, (about_copy(path, copy), about_wal(path, reason)))))


def about_copy(path: Path, copy: Path | None) -> str:
    return f"{path} was brought to a new format. As it was before, it is kept in {copy}." if copy else ""


def about_wal(path: Path, reason: str) -> str:
    if not reason:
        return ""
    return (
        f"{path} is kept without a write-ahead log ({reason}): other hermes processes may wait for each other. "
        "A folder on a local disk does not have this limit."
    )


def connect(path: Path) -> Connection:
    connection = Connection.to(path, busy_timeout_s=BUSY_TIMEOUT_S)
    connection.run(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.run("PRAGMA fullfsync = ON")  # macOS: else what is "synced" may still stand in the drive's own cache
    return connection


def try_wal(connection: Connection, path: Path) -> tuple[Path | None, str]:
    """Bring the tables up to date, switch to WAL and prove that it can be written.

    The copy that was made of an older file, and the reason why WAL does not work, "" when it does.
    """
    copy = None
    try:
        copy = migrate(connection, path)
        mode = patiently(lambda: connection.value("PRAGMA journal_mode = WAL"))
        if mode != "wal":
            return copy, f"SQLite chose the journal mode {mode}"
        connection.run("PRAGMA synchronous = NORMAL")
        connection.run(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.run(f"PRAGMA journal_size_limit = {KEPT_LOG_BYTES}")
        return copy, refused_write(connection)
    except sqlite3.OperationalError as error:
        if is_busy(error):
            raise
        return copy, str(error)


def refused_write(connection: Connection) -> str:
    """Why a write transaction cannot begin, or "": a WAL whose shared memory is missing can still be read."""
    try:
        connection.run("BEGIN IMMEDIATE")
        connection.run("ROLLBACK")
    except sqlite3.OperationalError as error:
        return "" if is_busy(error) else str(error)
    return ""


def open_without_wal(path: Path) -> tuple[Connection, Path | None]:
    """Raises sqlite3.OperationalError when the file cannot be written this way either."""
    with closing(Connection.to(path)) as alone:
        # Only a connection that shares with nobody can open a WAL without shared memory, to turn it back.
        alone.run("PRAGMA locking_mode = EXCLUSIVE")
        patiently(lambda: alone.run("PRAGMA journal_mode = DELETE"))
    connection = connect(path)
    try:
        copy = migrate(connection, path)
        connection.run("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection, copy
