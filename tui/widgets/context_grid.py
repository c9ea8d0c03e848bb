"""The context window as a hundred cells, each one percent of it, and what fills them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from agent.commands.context_report import free
from agent.context.split import ContextSplit
from agent.context.words import share, tokens
from tui.transcript.wrap import crop
from tui.widgets.state_words import one_line

COLUMNS, ROWS = 20, 5
CELLS = COLUMNS * ROWS
GAP, BESIDE = 2, 3


class Mark(Struct, frozen=True):
    """Neither sign nor colour is needed to tell one from the other."""

    sign: str
    style: str


MARKS = {
    "System prompt": Mark("◆", "$text-primary"),
    "Tool definitions": Mark("▲", "$text-accent"),
    "Project rules": Mark("■", "$text-success"),
    "Skills": Mark("★", "$text-warning"),
    "MCP": Mark("▼", "$text-secondary"),
    "Memory": Mark("◇", "$text-error"),
    "Conversation": Mark("●", "$foreground"),
}
OTHER = Mark("▪", "$foreground")
FREE = (Mark("·", "$foreground 55%"), Mark("░", "$foreground 45%"))  # below the threshold, above it


def cells_of(split: ContextSplit) -> list[int]:
    """How many of the hundred cells each share takes: at least one for any token, and no more than there are."""
    window = split.figure.window or 1
    counts = [min(CELLS, max(1, round(one.tokens / window * CELLS))) if one.tokens else 0 for one in split.shares]
    while sum(counts) > CELLS:
        counts[counts.index(max(counts))] -= 1
    return counts


def grid(split: ContextSplit) -> list[Mark]:
    """The cells in order: what is used, what is free, what is free and never used since it is compacted before."""
    used = [mark_of(one.name) for one, count in zip(split.shares, cells_of(split), strict=True) for _ in range(count)]
    window = split.figure.window or 1
    limit = round((split.figure.threshold or window) / window * CELLS)
    return used + [FREE[at >= limit] for at in range(len(used), CELLS)]


def mark_of(name: str) -> Mark:
    return MARKS.get(name, OTHER)


class ContextGrid(Widget):
    """The cells with their legend beside them, or beneath them where there is no room."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "ContextGrid { height: auto; }"

    def __init__(self, split: ContextSplit) -> None:
        super().__init__()
        self._split = split

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def _lines(self, width: int) -> list[Content]:
        legend = legend_lines(self._split, width)
        if not self._split.figure.window:
            return legend  # a cell would be one percent of nothing that is known
        beside = max(line.cell_length for line in legend) + BESIDE
        spread = 2 if beside + 2 * COLUMNS <= width else 1
        drawn = _rows(grid(self._split), spread)
        if spread * COLUMNS + beside > width:
            return [*drawn, Content(""), *legend]
        blank = Content(" " * (spread * COLUMNS))
        return [
            Content.assemble(left or blank, " " * BESIDE, right or "") for left, right in zip_longest(drawn, legend)
        ]


def _rows(marks: Sequence[Mark], spread: int) -> list[Content]:
    gap = " " * (spread - 1)
    return [
        Content.assemble(*((mark.sign + gap, mark.style) for mark in marks[start : start + COLUMNS]))
        for start in range(0, CELLS, COLUMNS)
    ]


def legend_lines(split: ContextSplit, width: int) -> list[Content]:
    """Sign, name, tokens and, where the window is known, percentage."""
    figure = split.figure
    rows = [(mark_of(one.name), one_line(one.name), one.tokens) for one in split.shares]
    told = [(mark, name, tokens(count), share(count, figure.window or 0)) for mark, name, count in rows]
    told += [(mark, *row) for mark, row in zip(FREE, free(figure), strict=False)]
    counts = max(cell_len(count) for _, _, count, _ in told)
    percents = GAP + 4 if figure.window else 0
    names = min(max(cell_len(name) for _, name, _, _ in told), max(1, width - 2 - GAP - counts - percents))
    return [
        Content.assemble(
            (f"{mark.sign} ", mark.style),
            (_padded(crop(name, names), names + GAP), "$foreground"),
            (count.rjust(counts), "$foreground"),
            (percent.rjust(percents) if percents else "", "$foreground 68%"),
        )
        for mark, name, count, percent in told
    ]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
