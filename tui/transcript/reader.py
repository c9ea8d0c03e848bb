"""Reading a transcript with the keys and the mouse: where one is in it, what is selected, what was found."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

from textual.strip import Strip

from tui.transcript.alignment import Alignment
from tui.transcript.blocks import Block, Prompt
from tui.transcript.drawing import MARGIN
from tui.transcript.find import Hit
from tui.transcript.layout import Layout
from tui.transcript.page import Anchor, Page, moved
from tui.transcript.selection import Place, Span, cells_between, line_cells, selected_text, word_at
from tui.transcript.source import may_fold, source_of


class Pages(Protocol):
    """What is read: blocks, how they are laid out, and the part of them on screen."""

    @property
    def blocks(self) -> Sequence[Block]: ...

    @property
    def laid(self) -> Layout: ...

    @property
    def page(self) -> Page: ...


class Reader:
    """Moves a caret, a selection and the hits of a search over a transcript. Whoever calls it draws anew."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self.caret = Place(0, 0, MARGIN)
        self._is_placed = False
        self.selection: Span | None = None
        self.is_selecting = False  # by keys: every move draws the selection on
        self.hits: list[Hit] = []
        self.at = -1  # the hit that was gone to
        self._spans: dict[int, tuple[list[Strip], list[tuple[int, int, int, int]]]] = {}

    # --- where one is

    def arrive(self) -> None:
        """Begin at the end of what is on screen, or near its top when it was scrolled up."""
        rows = self._visible()
        if not rows:
            return
        row = rows[-1] if self._pages.page.is_following else rows[min(1, len(rows) - 1)]
        self._put(Place(row.block, row.line, MARGIN))

    def keep_in_view(self) -> None:
        """After the page moved, the caret is on it again. A selection goes along only while keys draw it."""
        rows = self._visible()
        if self.selection is not None and not self.is_selecting:
            return
        here = Anchor(self.caret.block, self.caret.line)
        if rows and not rows[0] <= here <= rows[-1]:
            row = rows[0] if here < rows[0] else rows[-1]
            self._put(Place(row.block, row.line, self.caret.cell))

    def move(self, lines: int, *, extends: bool = False) -> None:
        if self.selection is None:
            self.keep_in_view()  # an answer may have moved the page away from it
        self._begin(extends=extends)
        place = moved(self._pages.laid, Anchor(self.caret.block, self.caret.line), lines)
        self._put(Place(place.block, place.line, self.caret.cell))
        self._pages.page.reach(place, 1)

    def move_cells(self, cells: int, *, extends: bool = False) -> None:
        """Left and right, within the line."""
        self._begin(extends=extends)
        first, end = line_cells(self._line(self.caret))
        cell = max(first, min(self.caret.cell, end - 1) + cells)
        self._put(Place(self.caret.block, self.caret.line, min(cell, end - 1)))

    def to_edge(self, edge: int) -> None:
        """The first line of the transcript, or its last one."""
        laid = self._pages.laid
        if edge < 0:
            self._put(Place(0, 0, MARGIN))
            self._pages.page.go(Anchor())
        else:
            last = len(laid) - 1
            self._pages.page.follow()
            self._put(Place(last, len(laid.strips(last)) - 1, MARGIN))

    def turn(self, step: int) -> int | None:
        """The prompt above where one is, or the one below; None where there is none."""
        blocks, here = self._pages.blocks, self._here()
        order = range(here - 1, -1, -1) if step < 0 else range(here + 1, len(blocks))
        return next((index for index in order if isinstance(blocks[index], Prompt)), None)

    def _here(self) -> int:
        """The block one is in: that of the caret while it is on screen, else the last one followed, or the top one."""
        rows = self._visible()
        if not rows:
            return 0
        if self._is_placed and rows[0] <= Anchor(self.caret.block, self.caret.line) <= rows[-1]:
            return self.caret.block
        is_following = self._pages.page.is_following
        return rows[-1].block + 1 if is_following else rows[0].block

    def go_to(self, block: int) -> None:
        """Show a block from its first line on."""
        self._pages.page.go(Anchor(block))
        self._put(Place(block, min(1, len(self._pages.laid.strips(block)) - 1), MARGIN))

    # --- what is selected

    @property
    def is_marking(self) -> bool:
        """Whether something is to be seen without the focus."""
        return self.selection is not None or bool(self.hits)

    @property
    def selected(self) -> str:
        """The source of what is selected; "" for nothing."""
        if self.selection is None:
            return ""
        return selected_text(self._pages.blocks, self._pages.laid, self.selection)

    def selected_cells(self, place: Anchor, width: int) -> tuple[int, int] | None:
        """Which cells of a line are selected."""
        return self.selection.cells(place.block, place.line, width) if self.selection is not None else None

    def toggle_selecting(self) -> None:
        self.is_selecting = not self.is_selecting
        self.selection = Span(self.caret, self.caret) if self.is_selecting else None

    def select(self, anchor: Place, caret: Place) -> None:
        self.selection, self.caret = Span(anchor, caret), caret

    def select_word(self, place: Place) -> None:
        self._select_cells(place, word_at(self._line(place), place.cell))

    def select_line(self, place: Place) -> None:
        self._select_cells(place, line_cells(self._line(place)))

    def clear(self) -> bool:
        """Select nothing; returns whether something was."""
        had = self.selection is not None
        self.selection, self.is_selecting = None, False
        return had

    # --- what was found

    def take_hits(self, hits: list[Hit], step: int) -> None:
        """Know what was found anew; go to the first of it from here on, or with a step on from the one gone to."""
        before = self.hits[self.at] if 0 <= self.at < len(self.hits) else None
        self.hits, self.at = hits, -1
        self._spans.clear()
        if not hits:
            return
        if step and before is not None:
            at = bisect_left(hits, before)
            is_there = at < len(hits) and hits[at] == before
            self._go_to_hit((at + step if is_there or step < 0 else at) % len(hits))
        else:
            self._go_to_hit(bisect_left(hits, self.caret.block, key=lambda hit: hit.block) % len(hits))

    def next_hit(self, step: int) -> None:
        if self.hits:
            self._go_to_hit((self.at + step) % len(self.hits))

    def found_on(self, place: Anchor) -> list[tuple[int, int, bool]]:
        """The cells of a line where something was found, and whether that is the hit that was gone to."""
        if not self.hits:
            return []
        return [
            (first, end, index == self.at)
            for line, first, end, index in self._found_in(place.block)
            if line == place.line
        ]

    def _go_to_hit(self, index: int) -> None:
        hit = self.hits[index]
        self.at = index
        laid = self._pages.laid
        if hit.block >= len(laid):
            return
        span = self._span_of(index)
        if (
            span is None
            and may_fold(self._pages.blocks[hit.block])
            and not (laid.is_unfolded(hit.block) or hit.block in laid.raw)
        ):
            laid.toggle(hit.block)
            span = self._span_of(index)
        line, cell, _ = span or (min(1, len(laid.strips(hit.block)) - 1), MARGIN, 0)
        rows = self._visible()
        place = Anchor(hit.block, line)
        if not (rows and rows[min(1, len(rows) - 1)] <= place <= rows[-1]):
            self._pages.page.go(place, len(rows) // 3)
        self._put(Place(hit.block, line, cell))

    def _span_of(self, index: int) -> tuple[int, int, int] | None:
        found = self._found_in(self.hits[index].block)
        return next(((line, first, end) for line, first, end, number in found if number == index), None)

    def _found_in(self, block: int) -> list[tuple[int, int, int, int]]:
        """(line, first cell, cell behind, number of the hit) of a block, kept as long as it is drawn like this."""
        strips = self._pages.laid.strips(block)
        known = self._spans.get(block)
        if known is not None and known[0] is strips:
            return known[1]
        first = bisect_left(self.hits, block, key=lambda hit: hit.block)
        found: list[tuple[int, int, int, int]] = []
        if first < len(self.hits) and self.hits[first].block == block:
            lines = [strip.text for strip in strips]
            aligned = Alignment(source_of(self._pages.blocks[block]), lines)
            for number in range(first, len(self.hits)):
                hit = self.hits[number]
                if hit.block != block:
                    break
                for line, begin, end in aligned.spans(hit.start, hit.end):
                    found.append((line, *cells_between(lines[line], begin, end), number))
        self._spans[block] = (strips, found)
        return found

    # --- inside

    def _visible(self) -> list[Anchor]:
        return [place for place, _ in self._pages.page.visible()]

    def _line(self, place: Place) -> str:
        strips = self._pages.laid.strips(place.block)
        return strips[min(place.line, len(strips) - 1)].text

    def _begin(self, *, extends: bool) -> None:
        if extends and self.selection is None:
            self.selection = Span(self.caret, self.caret)
        elif not extends and not self.is_selecting:
            self.selection = None

    def _put(self, place: Place) -> None:
        self.caret, self._is_placed = place, True
        if self.selection is not None:
            self.selection = Span(self.selection.anchor, place)

    def _select_cells(self, place: Place, cells: tuple[int, int]) -> None:
        first, end = cells
        self.select(Place(place.block, place.line, first), Place(place.block, place.line, end - 1))
