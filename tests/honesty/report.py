"""How true the figures of the played sessions were, as a table.

python -m tests.honesty.report [numbers of sessions, all of them where none is named]
"""

from __future__ import annotations

import asyncio
import logging
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.honesty.record import Compaction, Played, Point, Refusal
from tests.honesty.run import play
from tests.honesty.scripts import SESSIONS, script

PROCESSES = 2
ENOUGH_READINGS = 3  # from here on an estimate rests on what was learned
LONG_TAIL = 1 / 3  # of the figure, that no server had counted
JUMP = 0.02
SHOWN = 8  # of the worst


@dataclass(frozen=True)
class Errors:
    """Of one group of points, as parts of the truth."""

    name: str
    points: Sequence[Point]

    def __bool__(self) -> bool:
        return bool(self.points)

    @property
    def sizes(self) -> list[float]:
        return sorted(abs(point.error) for point in self.points)

    @property
    def median(self) -> float:
        return statistics.median(self.sizes) if self else 0.0

    @property
    def p95(self) -> float:
        return self.sizes[math.ceil(len(self.points) * 0.95) - 1] if self else 0.0

    @property
    def worst(self) -> float:
        return self.sizes[-1] if self else 0.0

    @property
    def largest(self) -> list[Point]:
        return sorted(self.points, key=lambda point: -abs(point.error))[:SHOWN]

    def __str__(self) -> str:
        return f"{self.name:46} {len(self.points):6} points  median {self.median:6.2%}  p95 {self.p95:6.2%}  worst {self.worst:7.2%}"


@dataclass(frozen=True)
class Jump:
    """The display fell between two moments, though nothing left the conversation."""

    before: Point
    after: Point

    @property
    def fall(self) -> float:
        return 1 - self.after.used / self.before.used if self.before.used else 0.0

    def __str__(self) -> str:
        return f"{self.fall:.1%}\n      {self.before}\n      {self.after}"


@dataclass(frozen=True)
class Report:
    """All of what the issue's goals are about."""

    played: Sequence[Played]

    @property
    def display(self) -> list[Point]:
        return [point for one in self.played for point in one.display]

    @property
    def gates(self) -> list[Point]:
        return [point for one in self.played for point in one.gates]

    def anchored(self, points: Iterable[Point]) -> Errors:
        return Errors("anchored", [point for point in points if point.is_anchored])

    def short_tailed(self, points: Iterable[Point]) -> Errors:
        few = [point for point in points if point.is_anchored and point.tail < LONG_TAIL]
        return Errors("  of these with less than a third unpriced", few)

    def guessable(self, points: Iterable[Point]) -> Errors:
        """What a model takes for an image is not to be guessed before it has counted one."""
        few = [point for point in self.short_tailed(points).points if not point.has_new_image]
        return Errors("    of these without a model's first images", few)

    def early(self, points: Iterable[Point]) -> Errors:
        return Errors("estimated, fewer than 3 readings", [point for point in points if _is_early(point)])

    def learned(self, points: Iterable[Point]) -> Errors:
        late = [point for point in points if not (point.is_anchored or _is_early(point))]
        return Errors("estimated, 3 readings and more", late)

    @property
    def compactions(self) -> list[Compaction]:
        return [compaction for one in self.played for compaction in one.compactions]

    @property
    def needless(self) -> list[Compaction]:
        return [compaction for compaction in self.compactions if compaction.is_needless]

    @property
    def refusals(self) -> list[Refusal]:
        return [refusal for one in self.played for refusal in one.refusals]

    @property
    def missed(self) -> list[Refusal]:
        return [refusal for refusal in self.refusals if refusal.is_missed]

    @property
    def jumps(self) -> list[Jump]:
        """At the boundary of a turn, of a figure that a server had counted."""
        return [jump for jump in self._falls if jump.before.is_anchored]

    @property
    def corrections(self) -> list[Jump]:
        """An estimate that was too high, when its first reading came."""
        return [jump for jump in self._falls if not jump.before.is_anchored]

    @property
    def _falls(self) -> list[Jump]:
        jumps = [jump for one in self.played for jump in _boundaries(one.display)]
        return [jump for jump in jumps if jump.fall > JUMP]

    @property
    def differing(self) -> list[str]:
        return [said for one in self.played for said in one.differing]

    @property
    def errors(self) -> list[str]:
        return [said for one in self.played for said in one.errors]


def _is_early(point: Point) -> bool:
    return not point.is_anchored and point.readings < ENOUGH_READINGS


def _boundaries(points: Sequence[Point]) -> Iterator[Jump]:
    """The last figure of a turn beside those of the next one up to its first reply, and beside what a resume shows."""
    last: Point | None = None
    for before, after in pairwise(points):
        is_boundary = before.turn != after.turn or after.moment in ("resume", "process", "personality", "images")
        if is_boundary and before.moment != "images":  # they belong to the prompt behind them
            last = before
        if after.leg != before.leg:
            last = None
        if last is not None and last.leg == after.leg:
            yield Jump(last, after)
        if after.moment == "reply":
            last = None


def played(numbers: Sequence[int]) -> list[Played]:
    return asyncio.run(_played(numbers))


async def _played(numbers: Sequence[int]) -> list[Played]:
    found: list[Played] = []
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="hermes-honesty-") as folder:
            found.append(await play(script(number), Path(folder)))
    return found


def played_in_processes(numbers: Sequence[int]) -> list[Played]:
    shares = [numbers[start::PROCESSES] for start in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = [one for share in pool.map(played, shares) for one in share]
    return sorted(found, key=lambda one: one.number)


def lines(report: Report) -> Iterator[str]:
    requests = sum(one.requests for one in report.played)
    yield f"{len(report.played)} sessions, {requests} requests"
    for name, points in (("display", report.display), ("gates", report.gates)):
        yield f"\n{name}"
        for group in (report.anchored, report.short_tailed, report.guessable, report.early, report.learned):
            yield f"  {group(points)}"
    made = [one for one in report.compactions if one.rows]
    yield f"\ncompactions {len(report.compactions)}, {len(made)} of them made; by the threshold {sum(one.is_automatic for one in made)}"
    yield from _listed("needless", report.needless)
    yield from _listed("without effect", [one for one in report.compactions if not one.rows])
    yield f"refusals for size {len(report.refusals)}"
    yield from _listed("missed", report.missed)
    yield from _listed("not to be seen before", [one for one in report.refusals if not one.is_missed])
    yield from _listed("downward jumps at a turn boundary", report.jumps)
    yield from _listed("corrections of an estimate at a turn boundary", report.corrections)
    yield from _listed("turns that failed", report.errors)
    yield from _listed("requests counted otherwise than foreseen", report.differing)
    for name, points in (("display", report.display), ("gates", report.gates)):
        for group in (report.guessable, report.early, report.learned):
            yield from _worst(f"{name}: {group(points).name.strip()}", group(points))
    yield from _by_kind(report)


def _listed(name: str, found: Sequence[object]) -> Iterator[str]:
    yield f"  {name}: {len(found)}"
    yield from (f"    {one}" for one in found[:SHOWN])


def _worst(name: str, errors: Errors) -> Iterator[str]:
    if errors:
        yield f"\nworst of {name}"
        yield from (f"  {point}" for point in errors.largest)


def _by_kind(report: Report) -> Iterator[str]:
    yield "\nby kind: p95 of anchored, early and learned; of the display, then of the gates"
    groups: list[Callable[[Iterable[Point]], Errors]] = [report.anchored, report.early, report.learned]
    for kind in dict.fromkeys(one.kind for one in report.played):
        shown = [f"{kind:16}"]
        for points in (report.display, report.gates):
            own = [point for point in points if point.kind == kind]
            shown += [f"{errors.p95:7.1%} ({len(errors.points):4})" for errors in (group(own) for group in groups)]
        yield "  " + " ".join(shown)


def main(numbers: Sequence[int]) -> int:
    logging.disable(logging.WARNING)
    for line in lines(Report(played_in_processes(numbers or range(SESSIONS)))):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main([int(number) for number in sys.argv[1:]]))
