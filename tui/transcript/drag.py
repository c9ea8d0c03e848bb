"""A selection that is drawn with the mouse. At an edge the page moves on by itself, for as long as the button is down."""

from __future__ import annotations

from typing import Protocol

from textual.timer import Timer

from tui.transcript.selection import Place

TICK_S = 0.05
MOST_LINES = 4


class Dragged(Protocol):
    """The view that is drawn over."""

    def place_at(self, x: int, y: int) -> Place | None: ...

    def draw_selection(self, anchor: Place, caret: Place) -> None: ...

    def scroll_lines(self, lines: int) -> None: ...

    def edge(self, y: int) -> int: ...


class Drag:
    """From the press of the button to its release. It selects once the mouse has left the cell that it began in."""

    def __init__(self, view: Dragged, anchor: Place, timer: Timer) -> None:
        self._view = view
        self._anchor = anchor
        self._timer = timer  # paused; each tick calls `tick`
        self._mouse = (0, 0)
        self.has_moved = False

    def move(self, x: int, y: int) -> None:
        self._mouse = (x, y)
        self._draw()
        (self._timer.resume if self.has_moved and self._view.edge(y) else self._timer.pause)()

    def tick(self) -> None:
        """The mouse stands still beyond an edge: go on."""
        lines = self._view.edge(self._mouse[1])
        self._view.scroll_lines(max(-MOST_LINES, min(MOST_LINES, lines)))
        self._draw()

    def stop(self) -> None:
        self._timer.stop()

    def _draw(self) -> None:
        place = self._view.place_at(*self._mouse)
        if place is None or (place == self._anchor and not self.has_moved):
            return
        self.has_moved = True
        self._view.draw_selection(self._anchor, place)
