"""How full the context is, as the status row tells it: in a few forms, the widest first."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from rich.cells import cell_len

from agent.context.meter import ContextFigure
from agent.context.words import tokens, used_text

FILLED, HALF, EMPTY, TICK = "▓", "▒", "░", "┃"
WIDE_CELLS, NARROW_CELLS = 10, 6  # of the bar, without its tick
FORMS = 5
QUIET = "$foreground 68%"
SERVED, UNREAD = "!", "≠"  # the server takes less than declared; it did not read all that was sent

Span = tuple[str, str]
"""Text and its style."""


class Step(Struct, frozen=True):
    """From `percent` on. The sign says in words of one letter what the colour says."""

    percent: int
    sign: str
    style: str


STEPS = (
    Step(95, "▲▲", "bold $context-full"),
    Step(80, "▲", "$context-high"),
    Step(50, "", "$context-half"),
    Step(0, "", "$context-calm"),
)


def step(percent: int) -> Step:
    return next(one for one in STEPS if percent >= one.percent)


def bar(figure: ContextFigure, cells: int) -> list[Span]:
    """The window as a bar in half cells, with a tick where compaction acts: it is full to there only once that is due."""
    assert figure.window is not None
    style = step(figure.percent or 0).style
    halves = min(2 * cells, max(min(figure.used, 1), round(figure.used / figure.window * cells * 2)))
    if figure.used < figure.window:
        halves = min(halves, 2 * cells - 1)
    if figure.threshold is None or figure.threshold >= figure.window:
        return [(_drawn(halves, cells), style)]
    at = max(1, round(figure.threshold / figure.window * cells))
    is_due = figure.used >= figure.threshold
    drawn = _drawn(max(halves, 2 * at) if is_due else min(halves, 2 * at - 1), cells)
    return [(drawn[:at], style), (TICK, "$foreground"), (drawn[at:], style)]


def _drawn(halves: int, cells: int) -> str:
    return (FILLED * (halves // 2) + HALF * (halves % 2)).ljust(cells, EMPTY)


def context_forms(figure: ContextFigure) -> list[list[Span]]:
    """`FORMS` forms, from bar, tokens, window and percent down to the least that still says how full it is, with all its marks."""
    unread = UNREAD if figure.unread else ""
    used = used_text(figure) + unread
    if not figure.window:
        return [*[[(f"{used}/?", QUIET)]] * (FORMS - 1), [(used, QUIET)]]
    served = SERVED if figure.declared is not None else ""
    counts = (f"{used}/{tokens(figure.window)}{served} ", QUIET)
    now = step(figure.percent or 0)
    percent, sign = f"{figure.percent or 0}%", f" {now.sign}".rstrip()
    share = percent + sign
    return [
        [counts, *bar(figure, WIDE_CELLS), (f" {share}", now.style)],
        [counts, *bar(figure, NARROW_CELLS), (f" {share}", now.style)],
        [counts, (share, now.style)],
        [(f"{used}{served} ", QUIET), (share, now.style)],
        [(f"{'~' if used.startswith('~') else ''}{percent}{unread}{served}{sign}", now.style)],
    ]


def cells_of(spans: Iterable[Span]) -> int:
    return sum(cell_len(text) for text, _ in spans)
