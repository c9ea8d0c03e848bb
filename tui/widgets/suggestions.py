"""What could be written next, over the composer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.widget import Widget

from agent.commands.suggestions import Suggestion
from tui.transcript.wrap import crop
from tui.widgets.state_words import one_line

MOST_ROWS = 8
GAP = 2
MARGIN = 2  # so that names stand over what is written


class Suggestions(Widget):
    """Takes no focus and no room: it lies over the end of the conversation for as long as there is something to choose."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Suggestions {
        overlay: screen; height: auto; width: 1fr; margin: 0 1; display: none;
        background: $panel; color: $foreground;
    }
    """

    def __init__(self, take: Callable[[], None]) -> None:
        """`take` is called when the mouse chose one, which is then `marked`."""
        super().__init__()
        self._take = take
        self._offered: Sequence[Suggestion] = ()
        self._at = 0
        self.is_moved = False  # the person has gone to one of them

    @property
    def marked(self) -> Suggestion | None:
        """The one that would be taken, None while nothing is offered."""
        return self._offered[self._at] if self._offered else None

    @property
    def offered(self) -> Sequence[Suggestion]:
        return self._offered

    def offer(self, found: Sequence[Suggestion]) -> None:
        self._offered, self._at, self.is_moved = found, 0, False
        self.display = bool(found)
        if found:
            self._place()

    def hide(self) -> None:
        self.offer(())

    def move(self, step: int) -> None:
        """Mark the next one; the ends meet."""
        self._at = (self._at + step) % len(self._offered)
        self.is_moved = True
        self.refresh()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self._rows

    def on_resize(self, event: events.Resize) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y
        if 0 <= index < len(self._offered):
            self._at = index
            self._take()

    def render(self) -> Content:
        width = self.content_size.width - 2 * MARGIN
        first = self._first
        shown = self._offered[first : first + self._rows]
        names = [one_line(one.shown or one.text) for one in shown]
        widest = max(map(cell_len, names), default=0)
        column = min(widest, width // 2) if any(one.about for one in shown) else width
        rows = [
            self._row(name, one.about, column, width, is_marked=first + number == self._at)
            for number, (name, one) in enumerate(zip(names, shown, strict=True))
        ]
        return Content("\n").join(rows)

    def _row(self, name: str, about: str, column: int, width: int, *, is_marked: bool) -> Content:
        name = crop(name, column)
        room = width - column - GAP
        about = crop(one_line(about), room) if about and room > 0 else ""
        left = name + " " * (column + GAP - cell_len(name)) if about else name
        side = " " * MARGIN
        if is_marked:
            row = left + about
            row += " " * (width - cell_len(row))
            return Content.assemble((side + row + side, "bold $block-cursor-foreground on $block-cursor-background"))
        return Content.assemble(side, (left, "$foreground"), (about, "$foreground 68%"))

    @property
    def _rows(self) -> int:
        return min(MOST_ROWS, len(self._offered), max(1, self.screen.size.height // 3))

    @property
    def _first(self) -> int:
        """The first one in sight: the marked one always is."""
        return max(0, min(self._at - self._rows // 2, len(self._offered) - self._rows))

    def _place(self) -> None:
        self.styles.offset = (0, -self._rows)
        self.refresh(layout=True)
