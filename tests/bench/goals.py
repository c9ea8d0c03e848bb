"""A row of the benchmark: what is measured, and how good that must be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

M = TypeVar("M")


@dataclass(frozen=True)
class Row:
    """A figure and its goal. `row` says what was done, what counts as the end, n and which percentile.

    The goal is the most that the figure may be; `is_least`: the least, where more is better. `remarks` belong to it
    and have no goal of their own.
    """

    row: str
    value: float
    unit: str
    goal: float
    is_least: bool = False
    remarks: tuple[str, ...] = ()
    issue: str = "house"

    @property
    def holds(self) -> bool:
        return self.value >= self.goal if self.is_least else self.value <= self.goal

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "MISSED"
        bound = "≥" if self.is_least else "≤"
        line = f"{self.value:>10.6g} {self.unit:<6} goal {bound}{self.goal:>6g}  {verdict:<7} {self.row}"
        return "\n".join([line, *(f"{'':>44}{remark}" for remark in self.remarks)])


@dataclass(frozen=True)
class Goal(Generic[M]):
    """A row to be measured on `M`, which holds what several rows need. A goal may itself be a measured figure."""

    row: str
    unit: str
    goal: float | Callable[[M], float]
    read: Callable[[M], float]
    is_least: bool = False
    remarks: Callable[[M], Iterable[str]] | None = None
    issue: str = "house"

    def is_wanted(self, names: list[str]) -> bool:
        """Whether one of the names is a part of the row's own, which ends with the colon. No names want all."""
        own = self.row[: self.row.index(":") + 1]
        return not names or any(name in own for name in names)

    def measure(self, measured: M) -> Row:
        value = round(self.read(measured), 3)
        goal = round(self.goal(measured), 3) if callable(self.goal) else self.goal
        remarks = tuple(self.remarks(measured)) if self.remarks else ()
        return Row(self.row, value, self.unit, goal, self.is_least, remarks, self.issue)
