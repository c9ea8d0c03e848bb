"""What was spent on models: tokens by kind, requests, and dollars where the price is known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from agent.parts import Parts
from agent.prices import cost_of
from session.models import Usage
from session.tables import Tables
from session.usage import Spent, day_of

DAYS = 7  # that are told
DAY_S = 86_400


class Line(Struct, frozen=True):
    """What one model took for one task. `cost` is in dollars, None where its price is not known."""

    spent: Spent
    cost: float | None = None


class Spending(Struct, frozen=True):
    """By model and task: of one session in all, and of all sessions by day, the oldest first, today last."""

    session: Sequence[Line]
    days: Mapping[str, Sequence[Line]]


def total(lines: Sequence[Line]) -> Usage:
    return sum((line.spent.usage for line in lines), Usage())


def cost(lines: Sequence[Line]) -> float | None:
    """In dollars, None where the price of one of them is not known."""
    known = [line.cost for line in lines if line.cost is not None]
    return sum(known) if len(known) == len(lines) else None


def cached_share(usage: Usage) -> float | None:
    """How much of what was read came from a cache, from 0 to 1; None where nothing was read."""
    return usage.cache_read / usage.prompt if usage.prompt else None


async def read_spending(parts: Parts, session_id: str) -> Spending:
    since = day_of(time.time() - (DAYS - 1) * DAY_S)

    def read(tables: Tables) -> tuple[list[Spent], dict[str, list[Spent]]]:
        return tables.usage.totals(session_id), tables.usage.by_day(since)

    session, days = await asyncio.wrap_future(parts.db.read(read))
    return Spending(_priced(parts, session), {day: _priced(parts, spent) for day, spent in days.items()})


def _priced(parts: Parts, spent: Sequence[Spent]) -> list[Line]:
    return [Line(one, cost_of(parts.settings, one)) for one in spent]
