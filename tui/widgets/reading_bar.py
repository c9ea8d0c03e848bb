"""The row under a conversation that is read: which keys there are, or the words to find and how often they stand there."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.bound_keys import run_bound
from tui.hints import hint, with_keys
from tui.keys import FIND_KEYS
from tui.transcript.find import MOST_HITS
from tui.transcript.reading import ReadingView
from tui.widgets.line_field import LineField

READ = (
    "{reading.leave} back",
    "{reading.find} find",
    "{reading.turn_above} {reading.turn_below} turns",
    "{reading.select} select",
    "{reading.copy} copy",
    "{reading.toggle} unfolds",
    "{reading.outline} prompts",
    "{reading.times} times",
    "{reading.raw} source",
)
FOUND = "{reading.next} next · {reading.previous} previous · {reading.leave} ends"
TYPING = "{find.next} {find.previous} go on"
LEAST_WORDS = 24  # cells for the words to find, before keys are told beside them
SELECTING = (
    "{reading.copy} copies",
    "{reading.up reading.down reading.left reading.right} select",
    "{reading.leave} ends",
)


class Words(LineField):
    """The words to find. Keys are answered in their order, so that what is typed ahead of a frame arrives where it should."""

    BINDINGS = FIND_KEYS

    def __init__(self, view: Callable[[], ReadingView | None]) -> None:
        super().__init__(compact=True, placeholder="Find in this conversation", select_on_focus=False)
        self.cursor_blink = False
        self._view = view

    async def on_key(self, event: events.Key) -> None:
        if not event.is_printable:
            await run_bound(self, event)

    def action_leave(self) -> None:
        if view := self._view():
            view.find("")
            view.focus()

    def action_settle(self) -> None:
        if view := self._view():
            view.focus()

    def action_next_hit(self, step: int) -> None:
        if view := self._view():
            view.action_next_hit(step)


class ReadingBar(Horizontal):
    """Stands there while the conversation, or the field for words in it, has the focus."""

    DEFAULT_CSS = """
    ReadingBar { dock: bottom; height: 1; padding: 0 1; display: none; color: $foreground 68%; }
    ReadingBar.-open { display: block; }
    ReadingBar Words, ReadingBar Words:focus { width: 1fr; height: 1; border: none; padding: 0; background: $background; color: $foreground; }
    ReadingBar #slash { width: 2; color: $text-primary; }
    ReadingBar #told { width: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._view: ReadingView | None = None  # the one that is read
        self._words = Words(lambda: self._view)
        self._slash = Static(Content("/"), id="slash")
        self._told = Static(Content(""), id="told")

    def compose(self) -> ComposeResult:
        yield self._slash
        yield self._words
        yield self._told

    def on_mount(self) -> None:
        self.tell()

    def on_resize(self) -> None:
        self.tell()

    def ask(self) -> None:
        """Let the person type words."""
        self._words.display = self._slash.display = True
        self.screen.set_focus(self._words)  # at once: a field without the focus is hidden again, and so loses it
        self.tell()

    def follow(self, focused: Widget | None) -> None:
        """Be there while one reads, and go with the focus."""
        if isinstance(focused, ReadingView):
            self._view = focused
        is_open = focused is not None and focused in (self._view, self._words)
        if not is_open and self._view is not None:
            self._view.find("")
            self._view = None
        self.set_class(is_open, "-open")
        self.tell()

    def tell(self) -> None:
        """Bring the row up to date."""
        if self._view is None or not self.is_mounted:
            return
        is_finding = self.screen.focused is self._words or bool(self._view.words)
        self._words.display = self._slash.display = is_finding
        if not is_finding and self._words.value:
            self._words.value = ""
        keys = SELECTING if self._view.reader.selection is not None else READ
        told = self._found(self._view) if is_finding else hint(self, self.size.width - 2, *keys)
        self._told.update(Content(told))

    def _found(self, view: ReadingView) -> str:
        if not view.words:
            return with_keys(self, "{find.settle} finds · {find.leave} leaves")
        count = len(view.reader.hits)
        if not count:
            return "not found"
        told = f"{view.reader.at + 1:,} of {count:,}{'+' if count == MOST_HITS else ''}"
        keys = with_keys(self, TYPING if self._words.has_focus else FOUND)
        return f"{told} · {keys}" if self.size.width >= len(told) + len(keys) + LEAST_WORDS else told

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._view is not None and event.value != self._view.words:
            self._view.look_for(event.value)
