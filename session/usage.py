"""What was spent: tokens by session, model and day, as each request was answered."""

from __future__ import annotations

import time
from collections import defaultdict

from msgspec import Struct

from session.connection import Connection, SqlRow
from session.models import Usage

# One row for all requests of a session that a model answered on one day for one task.
ADD = """
    INSERT INTO usage (session_id, provider, model, day, task, requests, input, output, cache_read, cache_write, reasoning)
    VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET requests = requests + 1, input = input + excluded.input, output = output + excluded.output,
        cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
        reasoning = reasoning + excluded.reasoning
    """
SPENT = """provider, model, task, sum(requests), sum(input), sum(output), sum(cache_read), sum(cache_write),
    sum(reasoning)"""


class Spent(Struct, frozen=True):
    """What a model was asked and what it took. `task` is what for: "" for the conversation itself, else "title", …"""

    provider: str
    model: str
    task: str
    requests: int
    usage: Usage


class UsageLedger:
    """Only ever added to; it outlives the sessions, as what was spent stays spent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, session_id: str, provider: str, model: str, day: str, task: str, usage: Usage) -> None:
        """Account for one request. `day` is as `day_of` gives it."""
        self._connection.run(
            ADD,
            session_id,
            provider,
            model,
            day,
            task,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
            usage.reasoning,
        )

    def totals(self, session_id: str) -> list[Spent]:
        """What a session took in all, by provider, model and task."""
        rows = self._connection.rows(
            f"SELECT {SPENT} FROM usage WHERE session_id = ? GROUP BY provider, model, task", session_id
        )
        return [spent(row) for row in rows]

    def by_day(self, since: str) -> dict[str, list[Spent]]:
        """What all sessions took, by day from `since` on, the oldest first; then by provider, model and task."""
        days: dict[str, list[Spent]] = defaultdict(list)
        rows = self._connection.rows(
            f"SELECT day, {SPENT} FROM usage WHERE day >= ? GROUP BY day, provider, model, task", since
        )
        for day, *columns in rows:
            days[str(day)].append(spent(tuple(columns)))
        return dict(days)


def spent(row: SqlRow) -> Spent:
    provider, model, task, *numbers = row
    requests, *tokens = (int(str(number)) for number in numbers)
    return Spent(str(provider), str(model), str(task), requests, Usage(*tokens))


def day_of(at: float) -> str:
    """The day of a moment where the person is: 2026-11-29."""
    return time.strftime("%Y-%m-%d", time.localtime(at))
