"""Whether a file is ours to open. A file that is not stays as it is, byte for byte, with nothing made beside it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct

from session.connection import Connection
from session.errors import DamagedDatabase, ForeignDatabase, NewerDatabase, NotADatabase, UnusableDatabase
from session.schema import APPLICATION_ID, USER_VERSION


class Stamp(Struct, frozen=True):
    """What the file's header says of who wrote it, and the names of its tables where they can be read."""

    application_id: int
    user_version: int
    tables: tuple[str, ...]


def claim(path: Path) -> None:
    """Make sure that a file of ours, or an empty one, is at `path`, readable by its owner only.

    Raises ForeignDatabase, NotADatabase, NewerDatabase or UnusableDatabase.
    """
    try:
        # Only where nothing is yet: closing a descriptor of a database that this process has open drops its locks.
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        refuse_unusable(path)
        if path.stat().st_size > 0:
            refuse_foreign_or_newer(path)
        path.chmod(0o600)
    except OSError as error:
        raise UnusableDatabase(path=path, reason=error.strerror or error) from error


def refuse_unusable(path: Path) -> None:
    if not path.is_file():
        raise UnusableDatabase(path=path, reason="it is not a file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise UnusableDatabase(path=path, reason="it may not be read and written")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UnusableDatabase(path=path, reason="its folder may not be written")


def refuse_foreign_or_newer(path: Path) -> None:
    stamp = header_stamp(path)
    if stamp.application_id != APPLICATION_ID:
        found = ", ".join(stamp.tables[:4]) or f"application id {stamp.application_id}"
        raise ForeignDatabase(path=path, found=f"it holds {found}")
    version = max(stamp.user_version, latest_version(path))
    if version < 1:  # ours get their tables, their mark and their format in one transaction
        raise ForeignDatabase(path=path, found="it has the mark of hermes, but no format of it")
    if version > USER_VERSION:
        raise NewerDatabase(path=path, found=version, known=USER_VERSION)


def header_stamp(path: Path) -> Stamp:
    """Read the header through SQLite without a lock, a journal or a file beside it."""
    try:
        with closing(Connection.to(path, "immutable=1")) as connection:
            # Else a file cut short by a kill while it was created is refused here, and its journal never restores it.
            connection.run("PRAGMA writable_schema = ON")
            return Stamp(
                int(str(connection.value("PRAGMA application_id"))),
                int(str(connection.value("PRAGMA user_version"))),
                table_names(connection),
            )
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
            raise NotADatabase(path=path) from error
        raise unusable(path, error) from error


def unusable(path: Path, error: sqlite3.Error) -> UnusableDatabase:
    is_corrupt = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT
    return (DamagedDatabase if is_corrupt else UnusableDatabase)(path=path, reason=error)


def table_names(connection: Connection) -> tuple[str, ...]:
    with suppress(sqlite3.DatabaseError):
        rows = connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return tuple(sorted(str(name) for (name,) in rows))
    return ()


def latest_version(path: Path) -> int:
    """The version as the WAL has it: a newer program that was killed leaves it there only.

    Read-only, since the last writable connection to close would write the WAL back into the file.
    """
    if not path.with_name(f"{path.name}-wal").exists():
        return 0
    with suppress(sqlite3.DatabaseError), closing(Connection.to(path, "mode=ro")) as connection:
        return int(str(connection.value("PRAGMA user_version")))
    return 0
