"""The rows on screen with what is laid over them: the prompt above, times, hits, a selection, the caret."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from agent.literal import visible
from tui.transcript.blocks import Block, Prompt
from tui.transcript.document import Document
from tui.transcript.drawing import MARGIN, Sheet
from tui.transcript.marks import Marks, laid_over, written_over
from tui.transcript.page import Anchor
from tui.transcript.wrap import crop

if TYPE_CHECKING:
    from tui.transcript.reader import Reader

BLOCK_MARK, CARET_MARK = "▎", "▶"


class Overlay:
    """Lays marks over rows in one width and theme. Rows with nothing to mark stay the very same strips."""

    def __init__(self, document: Document, sheet: Sheet, marks: Marks) -> None:
        self._document = document
        self._sheet = sheet
        self._marks = marks

    def with_prompt(self, rows: list[Strip], places: Sequence[Anchor]) -> list[Strip]:
        """The first row tells the prompt that one is under, where that is scrolled away."""
        above = prompt_above(self._document.blocks, places[0]) if places else None
        if above is None:
            return rows
        block = self._document.blocks[above]
        assert isinstance(block, Prompt)
        palette = self._sheet.palette
        text = crop(" ".join(visible(block.text[: 4 * self._sheet.cells]).split()), self._sheet.width - 2)
        line = [Segment("▌", palette.prompt_bar), Segment(f" {text}", palette.block_label)]
        return [self._sheet.row(line, palette.prompt), *rows[1:]]

    def with_times(self, rows: list[Strip], places: Sequence[Anchor]) -> list[Strip]:
        """When something was said, on the empty line above it."""
        today = time.localtime()[:3]
        told = list(rows)
        for y, place in enumerate(places):
            if place.line == 0 and told[y].text.isspace() and self._is_told(place.block):
                said = time.localtime(self._document.origins[place.block].at_s)
                text = time.strftime("%H:%M" if said[:3] == today else "%Y-%m-%d %H:%M", said)
                told[y] = written_over(told[y], MARGIN, [Segment(text, self._sheet.palette.muted)])
        return told

    def _is_told(self, block: int) -> bool:
        """Whether the time of a block is worth a word: that of each prompt, else when it is another than before."""
        origins = self._document.origins
        if block >= len(origins):
            return False
        is_first = block == 0 or isinstance(self._document.blocks[block], Prompt)
        return is_first or origins[block].at_s // 60 != origins[block - 1].at_s // 60

    def with_reading(
        self, rows: list[Strip], places: Sequence[Anchor], reader: Reader, *, has_caret: bool
    ) -> list[Strip]:
        """What was found, what is selected, and where one reads."""
        marked = list(rows)
        for y, place in enumerate(places):
            row = marked[y]
            is_here = has_caret and place.block == reader.caret.block
            if is_here and place.line == reader.caret.line and reader.selection is None:
                row = laid_over(row, 0, row.cell_length, self._marks.caret_row)
            for begin, end, is_current in reader.found_on(place):
                row = laid_over(row, begin, end, self._marks.current_hit if is_current else self._marks.hit)
            if cells := reader.selected_cells(place, row.cell_length):
                filled = max(cell_len(row.text.rstrip()), MARGIN) + 1
                row = laid_over(row, max(cells[0], MARGIN), min(cells[1], filled), self._marks.selected)
            marked[y] = self._with_caret(row, place, reader) if is_here else row
        return marked

    def _with_caret(self, row: Strip, place: Anchor, reader: Reader) -> Strip:
        palette = self._sheet.palette
        if place.line != reader.caret.line:
            return row if row.text.isspace() else written_over(row, 0, [Segment(BLOCK_MARK, palette.accent)])
        if reader.selection is not None:
            row = laid_over(row, reader.caret.cell, reader.caret.cell + 1, self._marks.caret)
        return written_over(row, 0, [Segment(CARET_MARK, palette.accent)])


def prompt_above(blocks: Sequence[Block], place: Anchor) -> int | None:
    """The prompt whose turn a place is in; None where that place is in the prompt itself, or before the first."""
    if place.block >= len(blocks) or isinstance(blocks[place.block], Prompt):
        return None
    return next((index for index in range(place.block - 1, -1, -1) if isinstance(blocks[index], Prompt)), None)
