"""`hermes sessions stats`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import to_builtins

from session.models import Usage
from session.statistics import Statistics, statistics
from tui.cli.sessions.options import StatsOptions
from tui.cli.sessions.store import Store, counted

MEBIBYTE = 2**20


def run_stats(options: StatsOptions, store: Store) -> int:
    path = store.profile.db.path
    found = store.read(lambda tables: statistics(tables, path))
    days = dict(sorted(found.days.items())[-options.days :])
    if store.as_json:
        store.data({"path": str(path), **to_builtins(found), "days": to_builtins(days)})
    else:
        store.answer("\n".join([f"Store     {path}", *_lines(found, days)]))
    return 0


def _lines(found: Statistics, days: dict[str, Usage]) -> Iterator[str]:
    size = found.size
    yield f"Sessions  {found.sessions:,} ({found.pinned:,} pinned, {found.archived:,} archived, {found.ended:,} ended)"
    yield f"Messages  {found.messages:,}{f' ({found.unindexed:,} not indexed yet)' if found.unindexed else ''}"
    yield f"File      {_mebibytes(size.file)}, of which {_mebibytes(size.unused)} unused; log {_mebibytes(size.log)}"
    if found.models:
        yield "By model"
        yield from (
            f"  {spent.model} ({spent.provider}{f', {spent.task}' if spent.task else ''}): {_tokens(spent.usage)} "
            f"in {counted(spent.requests, 'request')}"
            for spent in found.models
        )
    if days:
        yield "By day"
        yield from (f"  {day}: {_tokens(usage)}" for day, usage in reversed(days.items()))


def _tokens(usage: Usage) -> str:
    return f"{usage.prompt:,} tokens read ({usage.cache_read:,} cached), {usage.output:,} written"


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / MEBIBYTE:,.1f} MiB"
