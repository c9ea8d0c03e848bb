"""Where a question is answered in a person's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from textual import events
from textual.geometry import Size

from tui.widgets.composer import Composer

ROWS = 3


class Asker(Protocol):
    """The question around the field."""

    def admits(self, at_s: float) -> bool:
        """Whether input counts by now. Where it does not, the quiet time begins anew."""
        ...

    def typed(self) -> None:
        """Something was written: that is the answer now."""
        ...

    def moved(self, step: int) -> None:
        """The person goes on to the answer above or below."""
        ...


class AnswerField(Composer):
    """A draft of an answer. What is typed before the question counts stays in it, and its Enter does nothing."""

    DEFAULT_CSS = """
    AnswerField, AnswerField.-textual-compact { margin: 0; }
    """

    def __init__(self, asker: Asker, send: Callable[[str], None]) -> None:
        super().__init__(send, lambda: None)
        self.placeholder = "Your own words"
        self.rows = ROWS
        self._asker = asker

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(super().get_content_height(container, viewport, width), self.rows)

    async def on_key(self, event: events.Key) -> None:
        """Before the composer's own, which this does not take the place of."""
        counts = self._asker.admits(event.time)
        if event.is_printable:
            self._asker.typed()
        elif event.key == "enter" and not counts:
            event.stop()
            event.prevent_default()
        elif step := self._step(event.key):
            event.stop()
            event.prevent_default()
            if counts:
                self._asker.moved(step)

    def on_paste(self, event: events.Paste) -> None:
        self._asker.typed()

    def _step(self, key: str) -> int:
        """Which way a key leads out of the field, 0 for one that stays in it."""
        row, _ = self.cursor_location
        match key:
            case "tab":
                return 1
            case "shift+tab":
                return -1
            case "up" if row == 0:
                return -1
            case "down" if row == self.document.line_count - 1:
                return 1
            case _:
                return 0
