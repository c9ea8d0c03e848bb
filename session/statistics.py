"""How much a store holds, and what it was spent on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from session.connection import Connection
from session.models import Usage
from session.search_index import indexed_to
from session.tables import Tables
from session.usage import Spent

COUNTS = """
    SELECT coalesce(sum(end_reason != 'deleted'), 0), coalesce(sum(archived), 0), coalesce(sum(pinned), 0),
        coalesce(sum(end_reason NOT IN ('', 'deleted')), 0), coalesce(sum(end_reason = 'deleted'), 0)
    FROM sessions
    """


class FileSize(Struct, frozen=True):
    """In bytes. `log` is the write-ahead log beside the file, `unused` what of the file holds nothing."""

    file: int
    log: int
    unused: int


class Statistics(Struct, frozen=True):
    """`ended` includes the archived sessions. `unindexed` messages are found by search all the same, but more slowly.

    `models` are what all requests took, by provider, model and task; `days` by day, both since the first one.
    """

    sessions: int
    archived: int
    pinned: int
    ended: int
    deleted: int
    messages: int
    unindexed: int
    size: FileSize
    models: tuple[Spent, ...]
    days: dict[str, Usage]


def statistics(tables: Tables, path: Path) -> Statistics:
    """Reads the index of all messages, and none of them."""
    connection = tables.connection
    sessions, archived, pinned, ended, deleted = numbers(connection, COUNTS)
    (messages,) = numbers(connection, "SELECT count(*) FROM messages")
    (unindexed,) = numbers(connection, "SELECT count(*) FROM messages WHERE id > ?", indexed_to(connection))
    by_day = tables.usage.by_day("")
    return Statistics(
        sessions,
        archived,
        pinned,
        ended,
        deleted,
        messages,
        unindexed,
        file_size(connection, path),
        tuple(in_all(spent for day in by_day.values() for spent in day)),
        {day: sum((spent.usage for spent in all_spent), Usage()) for day, all_spent in by_day.items()},
    )


def numbers(connection: Connection, sql: str, *values: int) -> list[int]:
    return [int(str(value)) for value in connection.row(sql, *values) or ()]


def file_size(connection: Connection, path: Path) -> FileSize:
    log = path.with_name(f"{path.name}-wal")
    (page_bytes,) = numbers(connection, "PRAGMA page_size")
    (unused,) = numbers(connection, "PRAGMA freelist_count")
    return FileSize(path.stat().st_size, log.stat().st_size if log.exists() else 0, unused * page_bytes)


def in_all(spendings: Iterable[Spent]) -> list[Spent]:
    """One for each provider, model and task; the one that took most first."""
    totals: dict[tuple[str, str, str], Spent] = {}
    for spent in spendings:
        key = spent.provider, spent.model, spent.task
        held = totals.get(key)
        totals[key] = spent if held is None else together(held, spent)
    return sorted(totals.values(), key=lambda spent: spent.usage.prompt + spent.usage.output, reverse=True)


def together(one: Spent, other: Spent) -> Spent:
    return Spent(one.provider, one.model, one.task, one.requests + other.requests, one.usage + other.usage)
