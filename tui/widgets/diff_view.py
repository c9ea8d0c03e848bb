"""A change of a file, before it is made: side by side where there is room, unified elsewhere, all of it reachable."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.transcript.wrap import chop
from tui.widgets.diff_rows import FileDiff, Row, file_diff

BETWEEN = "│"
_WRAPPED_ROWS = 512  # of which the pieces are kept, more than a screen shows
_LONG_CHARS = 10_000  # the pieces of such a line are made off the loop and kept

Piece = tuple[str, int]
"""A part of a line that fits into a row, and the character of the line that it begins with."""


class DiffView(ScrollView, can_focus=False):
    """Compares off the loop, then draws only the lines in sight. `Ready` says that all is there."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "diff--number",
        "diff--gap",
        "diff--removed",
        "diff--added",
        "diff--gone",
        "diff--come",
        "diff--none",
    }
    DEFAULT_CSS = """
    DiffView {
        height: auto; max-height: 1fr; background: $background;
        scrollbar-background: $background; overflow-x: hidden;
        scrollbar-gutter: stable;  /* it wraps the same with a scrollbar and without */
        scrollbar-size: 0 1;  /* Textual adds the lower one to the height, though there is none */
        & > .diff--number { color: $foreground 55%; }
        & > .diff--gap { color: $foreground 68%; }
        & > .diff--removed { background: $error 16%; }
        & > .diff--added { background: $success 16%; }
        & > .diff--gone { background: $error 38%; }
        & > .diff--come { background: $success 38%; }
        & > .diff--none { background: $surface; }
    }
    """

    class Ready(Message):
        """The diff is laid out for the width that there is."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__()
        self._texts = before, after
        self.wants_split = False
        self.diff: FileDiff | None = None
        self._layout: _Layout | None = None

    @property
    def is_ready(self) -> bool:
        return self._layout is not None

    @property
    def line_count(self) -> int:
        return len(self._layout) if self._layout else 1

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.line_count

    def on_resize(self, event: events.Resize) -> None:
        self.run_worker(self._prepare(self.scrollable_content_region.width), exclusive=True)

    async def _prepare(self, width: int) -> None:
        if self.diff is None:
            self.diff = await asyncio.to_thread(file_diff, *self._texts)
        is_split = self.wants_split and self.diff.removed > 0 and self.diff.added > 0
        if self._layout is not None and (self._layout.width, self._layout.is_split) == (width, is_split):
            return
        self._layout = await asyncio.to_thread(_Layout, self.diff, width, is_split)
        self.virtual_size = Size(width, len(self._layout))
        self.refresh(layout=True)
        self.post_message(self.Ready())

    def render_line(self, y: int) -> Strip:
        width, style = self.scrollable_content_region.width, self.rich_style
        at = self.scroll_offset.y + y
        if self._layout is None:
            return Strip([Segment("Comparing…" if not y else "", style)]).adjust_cell_length(width, style)
        if at >= len(self._layout):
            return Strip.blank(width, style)
        styles = {name: self.get_component_rich_style(name) for name in self.COMPONENT_CLASSES}
        return Strip(list(_drawn(self._layout, at, style, styles))).adjust_cell_length(width, style)


class _Layout:
    """Which row of the diff stands in which line of the view, at one width."""

    def __init__(self, diff: FileDiff, width: int, is_split: bool) -> None:
        self.width, self.is_split = width, is_split
        self.rows = diff.split if is_split else diff.unified
        last = max((max(row.old, row.new) for row in self.rows), default=0)
        self.digits = len(str(last))
        room = (width - len(BETWEEN)) // 2 if is_split else width
        self.text_cells = max(4, room - self.digits - 3)
        self._long: dict[str, list[Piece]] = {}
        self._starts = [0, *accumulate(map(self._height, self.rows))]
        self._short = lru_cache(_WRAPPED_ROWS)(self._pieces)

    def __len__(self) -> int:
        return self._starts[-1]

    def at(self, line: int) -> tuple[Row, int]:
        """The row in a line of the view, and which of its lines that is."""
        index = bisect_right(self._starts, line) - 1
        return self.rows[index], line - self._starts[index]

    def pieces(self, text: str) -> list[Piece]:
        return self._long.get(text) or self._short(text)

    def _height(self, row: Row) -> int:
        texts = (row.old_text, row.new_text) if self.is_split else (row.old_text or row.new_text,)
        return max(map(self._lines, texts))

    def _lines(self, text: str) -> int:
        if len(text) > _LONG_CHARS:
            self._long[text] = self._pieces(text)
            return len(self._long[text])
        if text.isascii():
            return max(1, -(-len(text) // self.text_cells))
        return max(1, len(self._pieces(text)))

    def _pieces(self, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        at = 0
        for piece, _ in chop(text, self.text_cells, self.text_cells):
            pieces.append((piece, at))
            at += len(piece)
        return pieces


def _drawn(layout: _Layout, at: int, plain: Style, styles: dict[str, Style]) -> Iterator[Segment]:
    row, line = layout.at(at)
    if row.gap:
        counted = "1 unchanged line" if row.gap == 1 else f"{row.gap:,} unchanged lines"
        yield Segment(f"{'⋯':>{layout.digits}}   {counted}", plain + styles["diff--gap"])
        return
    if not layout.is_split:
        yield from _half(layout, row, line, plain, styles, is_new=bool(row.new))
        return
    yield from _half(layout, row, line, plain, styles, is_new=False)
    yield Segment(BETWEEN, plain + styles["diff--number"])
    yield from _half(layout, row, line, plain, styles, is_new=True)


def _half(
    layout: _Layout, row: Row, line: int, plain: Style, styles: dict[str, Style], *, is_new: bool
) -> Iterator[Segment]:
    """One side: number, sign and text, as wide as it may be."""
    number, text, marked = (
        (row.new, row.new_text, row.marked_new) if is_new else (row.old, row.old_text, row.marked_old)
    )
    if not number:
        yield Segment(" " * (layout.digits + 3 + layout.text_cells), plain + styles["diff--none"])
        return
    ground, strong, sign = plain, plain, " "
    if not row.is_same:
        ground = plain + styles["diff--added" if is_new else "diff--removed"]
        strong = plain + styles["diff--come" if is_new else "diff--gone"]
        sign = "+" if is_new else "-"
    head = f"{number:>{layout.digits}} {sign} " if line == 0 else " " * (layout.digits + 3)
    yield Segment(head, ground + styles["diff--number"] if row.is_same or line else ground)
    pieces = layout.pieces(text)
    piece, begin = pieces[line] if line < len(pieces) else ("", len(text))
    first, last = (min(max(edge - begin, 0), len(piece)) for edge in marked)
    yield Segment(piece[:first], ground)
    yield Segment(piece[first:last], strong)
    yield Segment(piece[last:] + " " * (layout.text_cells - cell_len(piece)), ground)
