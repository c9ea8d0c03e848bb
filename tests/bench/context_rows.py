"""How true the context figure is, as rows: 200 scripted sessions against a provider that counts with a real tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from goals import Goal

from tests.honesty.record import Point
from tests.honesty.report import Errors, Report, lines, played_in_processes
from tests.honesty.scripts import SESSIONS


class ContextBench:
    """All sessions, played when a row first asks for them."""

    @cached_property
    def report(self) -> Report:
        return Report(played_in_processes(range(SESSIONS)))


Pick = Callable[[Report, Iterable[Point]], Errors]


def _goals(name: str, points: Callable[[Report], Sequence[Point]]) -> list[Goal[ContextBench]]:
    def goal(row: str, most: float, pick: Pick, read: Callable[[Errors], float]) -> Goal[ContextBench]:
        def value(bench: ContextBench) -> float:
            return read(pick(bench.report, points(bench.report))) * 100

        return Goal(f"context, {name}: {row}; of {SESSIONS} sessions", "%", most, value, issue="context")

    return [
        goal("error of a figure of which a server counted two thirds, p95", 2, Report.short_tailed, lambda errors: errors.p95),
        goal("the same without a model's first images, the worst", 10, Report.guessable, lambda errors: errors.worst),
        goal("error of an estimate with three readings learned from, p95", 15, Report.learned, lambda errors: errors.p95),
        goal("error of an estimate with fewer, p95", 50, Report.early, lambda errors: errors.p95),
    ]  # fmt: skip


def _none(row: str, count: Callable[[Report], int], *, is_last: bool = False) -> Goal[ContextBench]:
    return Goal(
        f"context: {row}; of {SESSIONS} sessions",
        "",
        0,
        lambda bench: count(bench.report),
        remarks=(lambda bench: lines(bench.report)) if is_last else None,
        issue="context",
    )


GOALS: list[Goal[ContextBench]] = [
    *_goals("display", lambda report: report.display),
    *_goals("gates", lambda report: report.gates),
    _none("needless compactions, by the provider's own count", lambda report: len(report.needless)),
    _none("requests refused for a size that a gate could have seen", lambda report: len(report.missed)),
    _none("falls of the display of more than 2 % at a turn's boundary", lambda report: len(report.jumps), is_last=True),
]
