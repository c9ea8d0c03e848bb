"""Whether the pages of a store's file hold together."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from session.connection import Connection

MOST_FAULTS = 20
CHECK_S = 300.0  # some ten times what a store of a million messages takes


class Integrity(Struct, frozen=True):
    """`faults` are SQLite's own words, `MOST_FAULTS` at most. `is_finished` is False where the time was over first."""

    faults: tuple[str, ...]
    is_finished: bool = True


def integrity(connection: Connection, time_s: float = CHECK_S) -> Integrity:
    """Read every page of the file, and compare each index with its table. Changes nothing."""
    faults: list[str] = []
    try:
        with connection.at_most(time_s):
            faults += (str(fault) for (fault,) in connection.each(f"PRAGMA integrity_check({MOST_FAULTS})"))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            return Integrity((), is_finished=False)
        faults.append(str(error))
    return Integrity(() if faults == ["ok"] else tuple(faults))
