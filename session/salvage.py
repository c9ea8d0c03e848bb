"""What can be read of a damaged store, in a new one beside it. The damaged one is only read, from a private copy."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from msgspec import Struct

from session.connection import Connection, SqlRow, SqlValue
from session.db import SessionDB
from session.errors import UserError
from session.hermes_agent_file import is_copied
from session.repair_checks import StrayCheck

# Those with a row number: its neighbours are found by it where a page between them cannot be read.
NUMBERED = (
    "sessions",
    "messages",
    "partials",
    "queued",
    "turns",
    "started_calls",
    "approval_requests",
    "prompts",
    "state",
)
UNNUMBERED = ("usage",)
MOST_MISSING = 5_000_000  # row numbers that are tried one by one where something cannot be read
COPIES = 20  # attempts at a copy of a file that is being written to


class Unsalvageable(UserError):
    """Not even a session could be read, or nothing could be written beside the file."""

    sentence = "Nothing could be read of {path}: {reason}."


class Salvaged(Struct, frozen=True):
    """The new file, and how much it holds."""

    path: Path
    sessions: int
    messages: int


def salvage(path: Path) -> Salvaged:
    """Read a damaged store row by row into "state.db.salvaged" beside it. Blocks. Raises Unsalvageable."""
    place = free_place(path.with_name(f"{path.name}.salvaged"))
    try:
        with tempfile.TemporaryDirectory(prefix=".salvage-", dir=path.parent) as folder:
            copy, part = Path(folder) / path.name, Path(folder) / "salvaged.db"
            if not any(is_copied(path, copy) for _ in range(COPIES)):
                raise Unsalvageable(path=path, reason="it is being written all the time; close every hermes first")
            SessionDB.open(part).close()
            sessions, messages = carry_over(copy, part)
            if not sessions and not messages:
                raise Unsalvageable(path=path, reason="none of its tables can be read")
            give_sessions_to_strays(part)
            return Salvaged(part.rename(place), sessions, messages)
    except (OSError, sqlite3.Error) as error:
        raise Unsalvageable(path=path, reason=error) from error


def free_place(place: Path) -> Path:
    names = (place if number == 1 else place.with_name(f"{place.name}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def give_sessions_to_strays(path: Path) -> None:
    db = SessionDB.open(path)
    try:
        StrayCheck(time.time()).mend(db, time.time())
    finally:
        db.close()


def carry_over(damaged: Path, part: Path) -> tuple[int, int]:
    """Copy what can be read; the number of sessions and of messages."""
    copied = dict.fromkeys((*NUMBERED, *UNNUMBERED), 0)
    with closing(Connection.to(damaged)) as source, closing(Connection.to(part)) as target:
        source.run("PRAGMA writable_schema = ON")  # else one broken entry of the schema makes all of it unreadable
        with target.transaction():
            for table in copied:
                copied[table] = carry_table(source, target, table)
    return copied["sessions"], copied["messages"]


def carry_table(source: Connection, target: Connection, table: str) -> int:
    held = columns_of(source, table)
    names = [name for name in columns_of(target, table) if name in held or not held]
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)})"
    carried = 0
    for row in readable_rows(source, table, ", ".join(names)):
        with suppress(sqlite3.IntegrityError):  # a row that contradicts one that was read before it
            target.run(insert, *map(plain, row))
            carried += 1
    return carried


def columns_of(connection: Connection, table: str) -> list[str]:
    """None where the schema can't be read. A file of an older format lacks the last ones, which have their defaults."""
    try:
        return [str(name) for (name,) in connection.rows("SELECT name FROM pragma_table_info(?)", table)]
    except sqlite3.DatabaseError:
        return []


def readable_rows(source: Connection, table: str, columns: str) -> Iterator[SqlRow]:
    """The rows up to the first that cannot be read, those behind the last such one, and then those between."""
    if table in UNNUMBERED:
        with suppress(sqlite3.DatabaseError):
            yield from source.each(f"SELECT {columns} FROM {table}")
        return
    first, last = 0, 0
    try:
        for number, *row in source.each(f"SELECT rowid, {columns} FROM {table} ORDER BY rowid"):
            first = number if isinstance(number, int) else first
            yield tuple(row)
        return
    except sqlite3.DatabaseError:
        last = first
    with suppress(sqlite3.DatabaseError):
        backwards = f"SELECT rowid, {columns} FROM {table} WHERE rowid > ? ORDER BY rowid DESC"
        for number, *row in source.each(backwards, first):
            last = number if isinstance(number, int) else last
            yield tuple(row)
    for number in range(first + 1, min(last, first + MOST_MISSING)):
        with suppress(sqlite3.DatabaseError):
            yield from source.rows(f"SELECT {columns} FROM {table} WHERE rowid = ?", number)


def plain(value: object) -> SqlValue:
    return value if isinstance(value, str | int | float) else None
