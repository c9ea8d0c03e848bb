"""What is selected of a transcript: two places in it, the text between them, and words and lines around one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len, split_graphemes

from tui.transcript.alignment import Alignment, Spot
from tui.transcript.blocks import Block, Reasoning, Summary, ToolCard
from tui.transcript.drawing import MARGIN
from tui.transcript.layout import Layout
from tui.transcript.source import source_of

_WORD = re.compile(r"[\w./~:@%+-]*\w[\w/]*|\w+")
_ADDED = re.compile(r"^[▌┆│] ?")


class Place(Struct, frozen=True, order=True):
    """A cell of a drawn line of a block."""

    block: int
    line: int
    cell: int = 0


class Span(Struct, frozen=True):
    """From where it began to where it was drawn, in either direction. The cell of the later place is part of it."""

    anchor: Place
    caret: Place

    @property
    def first(self) -> Place:
        return min(self.anchor, self.caret)

    @property
    def last(self) -> Place:
        return max(self.anchor, self.caret)

    def cells(self, block: int, line: int, width: int) -> tuple[int, int] | None:
        """Which cells of a drawn line are selected."""
        first, last = self.first, self.last
        here = (block, line)
        if not (first.block, first.line) <= here <= (last.block, last.line):
            return None
        begin = first.cell if here == (first.block, first.line) else 0
        end = last.cell + 1 if here == (last.block, last.line) else width
        return begin, end


def selected_text(blocks: Sequence[Block], layout: Layout, selection: Span) -> str:
    """The source of what is selected: no borders, no bars, no breaks but its own."""
    text = ""
    before: Block | None = None
    for index in range(selection.first.block, min(selection.last.block + 1, len(blocks))):
        part = _text_of(index, blocks[index], layout, selection)
        if part.strip():
            is_in_row = isinstance(before, ToolCard) and isinstance(blocks[index], ToolCard)
            text += ("\n" if is_in_row else "\n\n") + part if text else part
            before = blocks[index]
    return text


def _text_of(index: int, block: Block, layout: Layout, selection: Span) -> str:
    may_hide = isinstance(block, ToolCard | Reasoning | Summary) and index not in layout.raw
    is_folded = may_hide and not layout.is_unfolded(index)
    is_inside = selection.first.block < index < selection.last.block
    if is_inside and not is_folded:
        return source_of(block)  # without a look at its lines: there may be very many such blocks
    lines = [strip.text for strip in layout.strips(index)]
    first, last = _spots(index, lines, selection)
    if isinstance(block, ToolCard) and is_folded:
        return _as_drawn(lines, first, last)
    if _is_all(lines, first, last) and not is_folded:
        return source_of(block)
    return Alignment(source_of(block), lines).source_between(first, last) or _as_drawn(lines, first, last)


def _spots(index: int, lines: Sequence[str], selection: Span) -> tuple[Spot, Spot]:
    """The part of a block that is selected, in characters of its lines."""
    first, last = selection.first, selection.last
    begin, end = Spot(0, 0), Spot(len(lines) - 1, len(lines[-1]))
    if first.block == index and first.line < len(lines):
        begin = Spot(first.line, column_at(lines[first.line], first.cell))
    if last.block == index and last.line < len(lines):
        end = Spot(last.line, column_at(lines[last.line], last.cell + 1))
    return begin, end


def _is_all(lines: Sequence[str], first: Spot, last: Spot) -> bool:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if not filled:
        return True
    end = Spot(filled[-1], len(lines[filled[-1]].rstrip()))
    return first <= Spot(filled[0], MARGIN) and last >= end


def _as_drawn(lines: Sequence[str], first: Spot, last: Spot) -> str:
    parts: list[str] = []
    for number in range(first.line, last.line + 1):
        begin = max(first.column if number == first.line else 0, MARGIN)
        end = last.column if number == last.line else None
        parts.append(_ADDED.sub("", lines[number][begin:end]).rstrip())
    return "\n".join(parts).strip("\n")


def column_at(text: str, cell: int) -> int:
    """The character that stands in a cell; the text's length behind its end."""
    if text.isascii():
        return min(cell, len(text))
    used = 0
    for start, _, size in split_graphemes(text)[0]:
        if used + size > cell:
            return start
        used += size
    return len(text)


def cells_between(text: str, begin: int, end: int) -> tuple[int, int]:
    """The cells that characters of a line stand in."""
    first = cell_len(text[:begin])
    return first, first + cell_len(text[begin:end])


def word_at(text: str, cell: int) -> tuple[int, int]:
    """The cells of the word in a cell, a path or an address being one word; of that cell alone where there is none."""
    column = column_at(text, cell)
    for match in _WORD.finditer(text):
        if match.start() <= column < match.end():
            return cells_between(text, match.start(), match.end())
    return cell, cell + 1


def line_cells(text: str) -> tuple[int, int]:
    """The cells of a line without its margin and what is blank behind it."""
    return MARGIN, max(MARGIN + 1, cell_len(text.rstrip()))
