"""What can be known of a store from outside. Nothing is made, locked for long, or written, not even beside the file."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from session.lease import COLUMNS, Lease, decode_lease
from session.schema import APPLICATION_ID, USER_VERSION

PATIENCE_S = 1.0
CHECK_S = 10.0
_WAL_HEADER = (2, 2)  # the file format versions at offset 18 of a file that is kept with a write-ahead log


class Inspection(Struct, frozen=True):
    """`check` is "ok", what SQLite found wrong, or "" when that took longer than `CHECK_S`.

    `open_turns` are turns that run now or that a process died in, `leases` who began them.
    """

    application_id: int
    version: int
    is_wal: bool
    size_bytes: int
    wal_bytes: int
    check: str
    open_turns: int
    leases: tuple[Lease, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.application_id == APPLICATION_ID

    @property
    def is_newer(self) -> bool:
        return self.version > USER_VERSION


def inspect(path: Path) -> Inspection:
    """Look into the store at `path`. Raises OSError, sqlite3.Error."""
    with path.open("rb") as file:
        header = file.read(100)
    with closing(_connected(path)) as connection:
        application_id = _number(connection, "PRAGMA application_id")
        return Inspection(
            application_id=application_id,
            version=_number(connection, "PRAGMA user_version"),
            is_wal=tuple(header[18:20]) == _WAL_HEADER,
            size_bytes=path.stat().st_size,
            wal_bytes=_wal_bytes(path),
            check=_check(connection) if application_id == APPLICATION_ID else "",
            open_turns=_open_turns(connection) if application_id == APPLICATION_ID else 0,
            leases=_leases(connection) if application_id == APPLICATION_ID else (),
        )


def _connected(path: Path) -> sqlite3.Connection:
    """Without a log to read, the file alone is all there is; with one, its index is read and not written to."""
    query = "mode=ro&readonly_shm=1" if _wal_bytes(path) else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{query}", uri=True, timeout=PATIENCE_S, isolation_level=None)


def _wal_bytes(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def _check(connection: sqlite3.Connection) -> str:
    deadline = time.monotonic() + CHECK_S
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        if time.monotonic() > deadline:
            return ""
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return str(found[0]) if found else "ok"


def _open_turns(connection: sqlite3.Connection) -> int:
    try:
        return _number(connection, "SELECT count(*) FROM turns WHERE ended_at IS NULL")
    except sqlite3.OperationalError:
        return 0  # an older format


def _leases(connection: sqlite3.Connection) -> tuple[Lease, ...]:
    try:
        return tuple(map(decode_lease, connection.execute(f"SELECT {COLUMNS} FROM leases ORDER BY taken_at")))
    except sqlite3.OperationalError:
        return ()  # an older format


def _number(connection: sqlite3.Connection, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    return row[0] if row and isinstance(row[0], int) else 0
