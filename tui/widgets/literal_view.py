"""A text that is judged: literal, wrapped without loss, all of it reachable by scrolling."""

from __future__ import annotations

from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.transcript.wrap import chop, expand_tabs


class LiteralView(ScrollView):
    """Draws only the lines in sight, so that a file of megabytes opens at once."""

    DEFAULT_CSS = """
    LiteralView { height: auto; max-height: 1fr; background: $surface; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._lines: list[str] = []
        self._wrapped_at = 0

    @property
    def line_count(self) -> int:
        return len(self._lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._wrap(width))

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        width, style = self.scrollable_content_region.width, self.rich_style
        lines = self._wrap(width)
        at = self.scroll_offset.y + y
        if at >= len(lines):
            return Strip.blank(width, style)
        return Strip([Segment(lines[at], style)]).adjust_cell_length(width, style)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self._wrap(width)))

    def _wrap(self, width: int) -> list[str]:
        width = max(1, width)
        if width != self._wrapped_at:
            self._wrapped_at = width
            self._lines = [piece for line in self._text.split("\n") for piece in _pieces(line, width)]
        return self._lines


def _pieces(line: str, width: int) -> list[str]:
    return [piece for piece, _ in chop(expand_tabs(line), width, width)] or [""]
