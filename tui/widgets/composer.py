"""Where a prompt is written: a draft that is never lost, sent by Enter."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.geometry import Size
from textual.timer import Timer

from tui.app_of import app_of
from tui.bound_keys import run_bound
from tui.keys import COMPOSER_KEYS
from tui.widgets.bursts import BURST_S, Bursts, Enter
from tui.widgets.grapheme_area import GraphemeArea, without_controls

BORDER_ROWS = 2

_MAY_SKIP = frozenset({"ctrl+c", "super+c"})  # without a selection these are for the screen


def clean_paste(text: str) -> str:
    """Pasted text as a draft holds it: without the last line end."""
    return without_controls(text).removesuffix("\n")


class Composer(GraphemeArea):
    """Enter sends; Shift+Enter, Alt+Enter and Ctrl+J break the line. Grows with its text to a third of the screen."""

    ALLOW_SELECT = False  # a drag over the transcript must not take the draft with it
    BINDINGS = COMPOSER_KEYS
    DEFAULT_CSS = """
    Composer, Composer.-textual-compact {
        height: auto; padding: 0 1; margin: 0 1;
        border: round $border-blurred !important; background: $background;
        scrollbar-size-vertical: 1;
    }
    Composer:focus { border: round $border !important; }
    Composer .text-area--placeholder { color: $foreground 68%; }
    """

    def __init__(self, send: Callable[[str], None], leave: Callable[[], None]) -> None:
        """`send` takes the draft, or leaves it where it is; called at once and in the order of keys. `leave` quits."""
        super().__init__(compact=True, highlight_cursor_line=False, placeholder="Ask for anything")
        self.cursor_blink = False
        self._send, self._leave = send, leave
        self._bursts = Bursts()
        self._waiting: Timer | None = None  # an Enter that is not yet known to send

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # Not `max-height`, which would leave no row for the text on a low screen: it outranks `min-height`.
        most = max(1, viewport.height // 3 - BORDER_ROWS) if width > 0 else 0
        return min(super().get_content_height(container, viewport, width), most)

    def set_draft(self, text: str) -> None:
        """Put another draft here, with the cursor at its end."""
        self._drop_waiting()
        self.load_text(text)
        self.move_cursor(self.document.end)

    def pasted(self, text: str) -> str:
        """What a pasted text is in the draft."""
        return clean_paste(text)

    def heed_paste(self, text: str) -> None:
        """What more comes of a paste, once its text stands in the draft."""

    def enter_sends(self) -> bool:
        """Whether Enter is the key that sends, and was not given up for another one."""
        active = self.screen.active_bindings.get("enter")
        return active is not None and active.binding.action == "send"

    async def on_key(self, event: events.Key) -> None:
        """Every key in the order it came. Bindings left to the app would run after letters typed behind them."""
        if self._waiting is not None:
            self._settle_enter(breaks=self._bursts.continues(event.time))
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self._enter(event.time)
            return
        self._bursts.key(event.time)
        if event.is_printable or event.key in _MAY_SKIP:
            return
        await run_bound(self, event)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._waiting is not None:
            self._settle_enter(breaks=self._bursts.continues(event.time))
        self._bursts.paste(event.time)
        self.history.checkpoint()
        if result := self.replace(self.pasted(event.text), *self.selection, maintain_selection_offset=False):
            self.move_cursor(result.end_location)
        self.heed_paste(clean_paste(event.text))

    def action_send(self) -> None:
        self._send(self.text)

    def action_new_line(self) -> None:
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_leave_or_delete(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self._leave()

    def _enter(self, at_s: float) -> None:
        if not self.enter_sends():
            self.action_new_line()
            return
        match self._bursts.enter(at_s):
            case Enter.SENDS:
                self.action_send()
            case Enter.BREAKS_LINE:
                self.action_new_line()
            case Enter.WAITS:
                self._waiting = self.set_timer(BURST_S, self._nothing_followed)

    def _nothing_followed(self) -> None:
        # Input that was read meanwhile may still be on its way through the app's queue.
        if app_of(self).message_queue_size:
            self._waiting = self.set_timer(BURST_S, self._nothing_followed)
        else:
            self._settle_enter(breaks=False)

    def _drop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def _settle_enter(self, *, breaks: bool) -> None:
        self._drop_waiting()
        if breaks:
            self._bursts.broke_line()
            self.action_new_line()
        else:
            self.action_send()
