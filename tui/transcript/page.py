"""What of the transcript is on screen. The truth is an anchor, the block and line of the top row: heights that turn out
other than estimated move the scrollbar's thumb, never the text.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct
from textual.strip import Strip

from tui.transcript.layout import Layout


class Anchor(Struct, frozen=True, order=True):
    """A line of a block."""

    block: int = 0
    line: int = 0


class Page:
    """A window of `rows` lines on a layout, either following the end or resting on its anchor."""

    def __init__(self, layout: Layout, rows: int) -> None:
        self._layout = layout
        self._rows = rows
        self.anchor = Anchor()
        self.is_following = True

    @property
    def top(self) -> int:
        """The line of the transcript in the top row."""
        if self.anchor.block >= len(self._layout):
            return 0
        return self._layout.start(self.anchor.block) + self.anchor.line

    def resize(self, layout: Layout, rows: int) -> None:
        """Go on with another width, theme or height; the top row keeps its place in its block."""
        block, line = self.anchor.block, self.anchor.line
        if block < len(self._layout) and block < len(layout) and not self.is_following:
            share = line / max(1, self._layout.height(block))
            height = len(layout.strips(block))
            line = line if height == self._layout.height(block) else min(height - 1, round(share * height))
        self._layout, self._rows = layout, rows
        self.anchor = Anchor(block, line)

    def visible(self) -> list[tuple[Anchor, Strip]]:
        """The rows to show, each with its place: fewer than there are only when all of it fits."""
        if not len(self._layout):
            return []
        if self.is_following or self.anchor.block >= len(self._layout):
            self._to_end()
        height = len(self._layout.strips(self.anchor.block))
        self.anchor = Anchor(self.anchor.block, min(self.anchor.line, height - 1))
        rows = self._from_anchor()
        if len(rows) < self._rows and self.anchor != Anchor():
            self._to_end()  # the anchor is too near the end to fill the page
            rows = self._from_anchor()
        return rows

    def scroll(self, lines: int) -> None:
        """Move by so many lines; at the end the page follows again."""
        if not len(self._layout):
            return
        if lines < 0:
            self._up(-lines)
        elif not self.is_following:
            self._down(lines)
        self.rest()

    def jump(self, line: int) -> None:
        """Show this line of the transcript in the top row, as near as heights are known."""
        size = len(self._layout)
        if not size:
            return
        starts = range(size)
        block = max(0, bisect_right(starts, max(0, line), key=self._layout.start) - 1)
        inside = max(0, line - self._layout.start(block))
        estimated = max(1, self._layout.height(block))
        height = len(self._layout.strips(block))
        self.anchor = Anchor(block, min(height - 1, inside * height // estimated))
        self.rest()

    def go(self, place: Anchor, above: int = 0) -> None:
        """Show a line with so many lines above it."""
        if not len(self._layout):
            return
        self.anchor = place
        self._up(above)
        self.rest()

    def reach(self, place: Anchor, spare: int = 0) -> None:
        """Move no further than it takes to show a line, `spare` rows from the top at the least."""
        rows = [shown for shown, _ in self.visible()]
        if not rows or rows[min(spare, len(rows) - 1)] <= place <= rows[-1]:
            return
        if place <= rows[-1]:
            self.go(place, spare)
        else:
            self.go(place, self._rows - 1)

    def follow(self) -> None:
        self.is_following = True

    def rest(self) -> None:
        """Keep the top row where it is; follow when, and only when, the last line is on the page."""
        self.is_following = False
        self.is_following = self._rows_from_anchor() <= self._rows

    def _rows_from_anchor(self) -> int:
        """Lines from the top row to the end, as far as they matter: past one page it stops counting."""
        rows = -self.anchor.line
        for index in range(self.anchor.block, len(self._layout)):
            rows += len(self._layout.strips(index))
            if rows > self._rows:
                break
        return rows

    def _up(self, lines: int) -> None:
        self.anchor = moved(self._layout, self.anchor, -lines)

    def _down(self, lines: int) -> None:
        self.anchor = moved(self._layout, self.anchor, lines)

    def _to_end(self) -> None:
        """Anchor the page so that its last row is the last line."""
        left = self._rows
        for index in range(len(self._layout) - 1, -1, -1):
            left -= len(self._layout.strips(index))
            if left <= 0:
                self.anchor = Anchor(index, -left)
                return
        self.anchor = Anchor()

    def _from_anchor(self) -> list[tuple[Anchor, Strip]]:
        rows: list[tuple[Anchor, Strip]] = []
        line = self.anchor.line
        for index in range(self.anchor.block, len(self._layout)):
            strips = self._layout.strips(index)
            shown = strips[line : line + self._rows - len(rows)]
            rows.extend((Anchor(index, number), strip) for number, strip in enumerate(shown, line))
            if len(rows) == self._rows:
                break
            line = 0
        return rows


def moved(layout: Layout, place: Anchor, lines: int) -> Anchor:
    """The place so many lines further down, or up when negative; the first or the last line where that is past an end."""
    block, line = place.block, place.line + lines
    while line < 0 and block > 0:
        block -= 1
        line += len(layout.strips(block))
    last = len(layout) - 1
    while block < last and line >= len(layout.strips(block)):
        line -= len(layout.strips(block))
        block += 1
    return Anchor(block, max(0, min(line, len(layout.strips(block)) - 1)))
