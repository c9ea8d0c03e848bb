"""A line that is typed or pasted and never drawn: a bullet stands for each character."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from tui.app_of import app_of
from tui.widgets.bursts import BURST_S, Bursts, Enter

PLACEHOLDER = "Paste or type it here"
BULLET, CURSOR = "•", "▏"


class MaskedField(Widget, can_focus=True):
    """Enter gives the text to `enter`. One that more of the same burst follows is a line end of pasted text; one at its
    end is an Enter, as password managers and `tmux send-keys` give it behind a paste: a key has one line.

    The text is in no reactive, no message and no undo history, and it can't be selected or copied.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = "MaskedField { height: 1; padding: 0 1; background: $background; }"

    length: reactive[int] = reactive(0)
    is_open: reactive[bool] = reactive(True)  # while it is shut, keys are dropped

    def __init__(self, enter: Callable[[str], None]) -> None:
        super().__init__()
        self._enter = enter
        self._text = ""
        self._bursts = Bursts()
        self._waiting: Timer | None = None  # an Enter that is not yet known to be one

    def clear(self) -> None:
        self._put("")

    def on_key(self, event: events.Key) -> None:
        is_ours = event.key in ("enter", "backspace", "ctrl+u") or (event.is_printable and event.character)
        if not is_ours:
            return
        event.stop()
        event.prevent_default()
        if self.is_open:
            self._take(event)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self.is_open:
            self._settle_enter(event.time)
            self._bursts.paste(event.time)
            self._put(self._text + event.text)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1

    def render(self) -> Content:
        if not self.length:
            return Content.assemble((CURSOR, "$text-accent"), (PLACEHOLDER, "$foreground 68%"))
        count = f"  {self.length:,} character{'' if self.length == 1 else 's'}"
        bullets = BULLET * max(0, min(self.length, self.content_size.width - len(count) - 1))
        return Content.assemble((bullets, "$foreground"), (CURSOR, "$text-accent"), (count, "$foreground 68%"))

    # --- inside

    def _take(self, event: events.Key) -> None:
        self._settle_enter(event.time)
        if event.key == "enter":
            self._press_enter(event.time)
            return
        self._bursts.key(event.time)
        match event.key:
            case "backspace":
                self._put(self._text[:-1])
            case "ctrl+u":
                self._put("")
            case _:
                self._put(self._text + (event.character or ""))

    def _press_enter(self, at_s: float) -> None:
        if self._bursts.enter(at_s) is Enter.SENDS:
            self._enter(self._text)
        else:
            self._waiting = self.set_timer(BURST_S, self._nothing_followed)

    def _settle_enter(self, at_s: float) -> None:
        """What came behind an Enter tells what it was: the end of a line of a burst, or an Enter on its own."""
        if self._waiting is None:
            return
        self._waiting.stop()
        self._waiting = None
        if self._bursts.continues(at_s):
            self._bursts.broke_line()
            self._put(f"{self._text}\n")
        else:
            self._enter(self._text)

    def _nothing_followed(self) -> None:
        # Input that was read meanwhile may still be on its way through the app's queue.
        if app_of(self).message_queue_size:
            self._waiting = self.set_timer(BURST_S, self._nothing_followed)
        else:
            self._waiting = None
            self._enter(self._text)

    def _put(self, text: str) -> None:
        self._text = text
        self.length = len(text.strip())
