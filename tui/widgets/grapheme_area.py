"""A text area whose cursor and deletions step over visible characters, never into one (D08)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from rich.text import Text
from textual.events import MouseEvent
from textual.geometry import Offset
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

from session.titles import graphemes

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?")


def without_controls(text: str) -> str:
    """Text as it may stand in an area: lines end in a newline, and what would act on the terminal is dropped."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))


def boundary_before(line: str, column: int) -> int:
    """The start of the visible character that `column` lies in; `column` itself where it lies between two."""
    if column <= 0 or column >= len(line) or line.isascii():
        return column
    at = 0
    for piece in graphemes(line):
        if at + len(piece) > column:
            return at
        at += len(piece)
    return at


def boundary_after(line: str, column: int) -> int:
    """The end of the visible character that `column` lies in; `column` itself where it lies between two."""
    before = boundary_before(line, column)
    return column if before == column else before + len(graphemes(line[before:])[0])


class GraphemeArea(TextArea):
    """TextArea counts code points; a family emoji is seven of them and one character to the person.

    `units` of a line are stepped over and deleted whole as well.
    """

    def units(self, line: str) -> Iterable[tuple[int, int]]:
        """Start and end of what is one thing to the person although it is many characters."""
        return ()

    # --- what may stand in it, whichever way it comes in

    def load_text(self, text: str) -> None:
        super().load_text(without_controls(text))

    def edit(self, edit: Edit) -> EditResult:
        return super().edit(replace(edit, text=without_controls(edit.text)))

    # --- where the cursor may go

    def get_cursor_left_location(self) -> Location:
        return self._start_of(super().get_cursor_left_location())

    def get_cursor_right_location(self) -> Location:
        return self._end_of(super().get_cursor_right_location())

    def get_cursor_up_location(self) -> Location:
        return self._start_of(super().get_cursor_up_location())

    def get_cursor_down_location(self) -> Location:
        return self._start_of(super().get_cursor_down_location())

    def get_cursor_word_left_location(self) -> Location:
        return self._start_of(super().get_cursor_word_left_location())

    def get_cursor_word_right_location(self) -> Location:
        return self._end_of(super().get_cursor_word_right_location())

    def get_target_document_location(self, event: MouseEvent) -> Location:
        return self._start_of(super().get_target_document_location(event))

    def delete(self, start: Location, end: Location, *, maintain_selection_offset: bool = True) -> EditResult:
        first, last = sorted((start, end))
        return super().delete(
            self._start_of(first), self._end_of(last), maintain_selection_offset=maintain_selection_offset
        )

    def replace(
        self, insert: str, start: Location, end: Location, *, maintain_selection_offset: bool = True
    ) -> EditResult:
        first, last = sorted((start, end))
        if first != last:
            first, last = self._start_of(first), self._end_of(last)
        return super().replace(insert, first, last, maintain_selection_offset=maintain_selection_offset)

    # --- how it is drawn

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        # An undo shows or hides the scrollbar before it moves the cursor, which may stand below the last line by then.
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def get_line(self, line_index: int) -> Text:
        """The line, with the cursor's style on the whole visible character under it."""
        line = super().get_line(line_index)
        row, column = self.cursor_location
        text = line.plain
        if row != line_index or text.isascii() or column >= len(text) or not self.has_focus:
            return line
        line.stylize(self.get_component_rich_style("text-area--cursor"), column, boundary_after(text, column + 1))
        return line

    def render_line(self, y: int) -> Strip:
        # The base class styles one code point as the cursor. Segments of one style are joined again, since half a
        # joined emoji has another width than it has in the whole.
        return super().render_line(y).simplify()

    def _start_of(self, location: Location) -> Location:
        row, column = location
        line = self._line(row)
        around = self._unit_at(line, column)
        return row, around[0] if around else boundary_before(line, column)

    def _end_of(self, location: Location) -> Location:
        row, column = location
        line = self._line(row)
        around = self._unit_at(line, column)
        return row, around[1] if around else boundary_after(line, column)

    def _unit_at(self, line: str, column: int) -> tuple[int, int] | None:
        """The unit that a column lies inside of."""
        return next(((start, end) for start, end in self.units(line) if start < column < end), None)

    def _line(self, row: int) -> str:
        # A line is deleted up to the start of the next one, which the last line does not have.
        return self.document.get_line(row) if row < self.document.line_count else ""
