"""A text that is judged: literal, wrapped without loss, all of it reachable by scrolling."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.transcript.wrap import chop, expand_tabs, wrap


class LiteralView(ScrollView, can_focus=False):
    """Draws only the lines in sight, so that a file of megabytes opens at once.

    `is_prose`: lines break at spaces, and the space at a break is not shown. Not for what is run by its bytes.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"literal-view--below"}
    DEFAULT_CSS = """
    LiteralView {
        height: auto; max-height: 1fr; background: $surface; overflow-x: hidden;
        scrollbar-gutter: stable;  /* it wraps the same with a scrollbar and without */
        scrollbar-size: 0 1;  /* Textual adds the lower one to the height, though there is none */
    }
    LiteralView > .literal-view--below { color: $foreground 68%; background: $panel; }
    """

    def __init__(self, text: str, *, is_prose: bool = False) -> None:
        super().__init__()
        self._wrapped = _wrapped_at_words if is_prose else _wrapped
        self._text = text
        self._below = ""
        self._lines: list[str] = []
        self._text_lines = 0  # of them those of the text itself
        self._wrapped_at: int = 0

    @property
    def line_count(self) -> int:
        return len(self._lines)

    @property
    def text(self) -> str:
        return self._text

    def put(self, text: str, below: str = "") -> None:
        """Another text. `below` is ours, not the text's: it stands under it on another ground, and is read by scrolling."""
        if (text, below) == (self._text, self._below):
            return
        self._text, self._below = text, below
        self._wrapped_at = 0
        self._lay_out()
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._wrap(width - self.scrollbar_gutter.width))

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        width, style = self.scrollable_content_region.width, self.rich_style
        lines = self._wrap(width)
        at = self.scroll_offset.y + y
        if at >= len(lines):
            return Strip.blank(width, style)
        if at >= self._text_lines:
            style = self.get_component_rich_style("literal-view--below")
        return Strip([Segment(lines[at], style)]).adjust_cell_length(width, style)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self._wrap(width)))

    def _wrap(self, width: int) -> list[str]:
        width = max(1, width)
        if width != self._wrapped_at:
            self._wrapped_at = width
            self._lines = self._wrapped(self._text, width)
            self._text_lines = len(self._lines)
            self._lines += self._wrapped(self._below, width) if self._below else []
        return self._lines


def _wrapped(text: str, width: int) -> list[str]:
    return [piece for line in text.split("\n") for piece in _pieces(line, width)]


def _wrapped_at_words(text: str, width: int) -> list[str]:
    return ["".join(segment.text for segment in line) for line in wrap([(text, Style.null())], width)]


def _pieces(line: str, width: int) -> list[str]:
    return [piece for piece, _ in chop(expand_tabs(line), width, width)] or [""]
