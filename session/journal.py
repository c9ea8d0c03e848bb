"""How the store's file is written: WAL where it works, else a rollback journal and a sentence about it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from session.connection import Connection, is_busy, patiently
from session.schema import migrate


def open_writer(path: Path) -> tuple[Connection, str]:
    """A connection to write with, its tables in place, and a note that is empty unless WAL does not work here.

    WAL needs memory shared between processes, which network file systems do not have (charmbracelet/crush#3461).
    """
    connection = Connection.to(path)
    try:
        reason = why_not_wal(connection)
        if not reason:
            connection.run("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    if not reason:
        return connection, ""
    connection.close()
    note = (
        f"{path} is kept without a write-ahead log ({reason}): other hermes processes may wait for each other. "
        "A folder on a local disk does not have this limit."
    )
    return open_without_wal(path), note


def why_not_wal(connection: Connection) -> str:
    """Create the tables, switch to WAL and prove that it can be written; the reason when it cannot, else ""."""
    try:
        migrate(connection)
        mode = patiently(lambda: connection.value("PRAGMA journal_mode = WAL"))
        return refused_write(connection) if mode == "wal" else f"SQLite chose the journal mode {mode}"
    except sqlite3.OperationalError as error:
        return str(error)


def refused_write(connection: Connection) -> str:
    """Why a write transaction cannot begin, or "": a WAL whose shared memory is missing can still be read."""
    try:
        connection.run("BEGIN IMMEDIATE")
        connection.run("ROLLBACK")
    except sqlite3.OperationalError as error:
        return "" if is_busy(error) else str(error)
    return ""


def open_without_wal(path: Path) -> Connection:
    """Raises sqlite3.OperationalError when the file cannot be written this way either."""
    with closing(Connection.to(path)) as alone:
        # Only a connection that shares with nobody can open a WAL without shared memory, to turn it back.
        alone.run("PRAGMA locking_mode = EXCLUSIVE")
        patiently(lambda: alone.run("PRAGMA journal_mode = DELETE"))
        migrate(alone)
    connection = Connection.to(path)
    connection.run("PRAGMA synchronous = FULL")
    return connection
