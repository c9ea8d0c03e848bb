"""The transcripts of the sessions that were looked at; one of them is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.containers import Container
from textual.widget import Widget

from agent.config.display_settings import ReasoningShown
from agent.events import RowsReplaced
from agent.hub import Hub
from agent.listener import Listener
from tui.app_of import app_of
from tui.screens.frames import Frames
from tui.transcript.reading import ReadingView

if TYPE_CHECKING:
    from tui.widgets.reading_bar import ReadingBar

MOST_IDLE = 8  # hidden transcripts of sessions where nothing runs; an older one is read from its rows again


class Conversation(Struct, frozen=True):
    """A transcript and what it has yet to hear. While it is hidden its listener gathers."""

    view: ReadingView
    listener: Listener
    frames: Frames


class Conversations(Container):
    """Keeps a transcript as it was left, place and all, and the half of an answer that came meanwhile."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Conversations { height: 1fr; padding: 0 0 0 1; }"

    def __init__(self, hub: Hub, clock: Callable[[], float]) -> None:
        """`clock` is that of the turns."""
        super().__init__()
        self._hub = hub
        self._clock = clock
        self._open: dict[str, Conversation] = {}
        self._shown = ""
        self._reasoning = hub.profile.settings.display.reasoning
        self.is_calm = hub.profile.settings.display.reduced_motion
        self._bar: ReadingBar | None = None

    @property
    def view(self) -> ReadingView:
        """The transcript on the screen."""
        return self._open[self._shown].view

    def show(self, session_id: str, intro: str) -> None:
        """Bring a session that is open in the hub to the screen."""
        if self._shown:
            self.view.display = False
        conversation = self._open.pop(session_id, None) or self._begin(session_id, intro)
        self._open[session_id] = conversation  # the last one is the one looked at last
        self._shown = session_id
        conversation.view.display = True
        self.run_worker(self._feed(session_id, conversation), group="feed", exclusive=True)
        self._forget_oldest()

    def tick(self) -> None:
        """A second went by. Nothing counts where nobody looks, nor where nothing is to move by itself."""
        if app_of(self).app_focus and not self.is_calm:
            self.view.tick()

    def reintroduce(self, session_id: str, intro: str) -> None:
        """Say anew what stands above the first message, where there is none yet."""
        conversation, rows = self._open.get(session_id), self._hub.runtime(session_id).s.rows
        if conversation is not None and not rows:
            conversation.view.open(rows, intro)

    def show_reasoning(self, shown: ReasoningShown) -> None:
        """Show so much of what models think, in all sessions."""
        self._reasoning = shown
        for conversation in self._open.values():
            conversation.view.show_reasoning(shown)

    def _begin(self, session_id: str, intro: str) -> Conversation:
        # Between listening and reading the rows nothing is awaited: no event is missed and none is shown twice.
        listener = self._hub.listen(session_id)
        view = ReadingView(self._clock)
        view.show_reasoning(self._reasoning)
        s = self._hub.runtime(session_id).s
        view.open(s.rows, intro, s.seq)
        if any(other.view.is_formatted for other in self._open.values()):
            view.formatting_ready()  # imported already: its first frame need not show the source
        self.mount(view)
        return Conversation(view, listener, Frames(listener, lambda: self.is_calm, lambda: app_of(self).app_focus))

    async def _feed(self, session_id: str, conversation: Conversation) -> None:
        while True:
            batch = await conversation.frames.next()
            is_other = any(isinstance(event, RowsReplaced) for event in batch)
            if conversation.listener.fell_behind() or is_other:
                s = self._hub.runtime(session_id).s
                conversation.view.open(s.rows, seq=s.seq)
            conversation.view.apply(batch)

    # --- reading

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._hear_focus, init=False)

    def _hear_focus(self, focused: Widget | None) -> None:
        """The row for reading comes and goes with the focus; it is made when it is first needed."""
        if self._bar is None and isinstance(focused, ReadingView):
            from tui.widgets.reading_bar import ReadingBar

            self._bar = ReadingBar()
            self.mount(self._bar)
        if self._bar is not None:
            self._bar.follow(focused)

    def on_reading_view_find_asked(self) -> None:
        if self._bar is not None:
            self._bar.ask()

    def on_reading_view_marked(self) -> None:
        if self._bar is not None:
            self._bar.tell()

    def _forget_oldest(self) -> None:
        idle = [key for key in self._open if key != self._shown and not self._hub.runtime(key).is_busy]
        for key in idle[: max(0, len(idle) - MOST_IDLE)]:
            gone = self._open.pop(key)
            self._hub.leave(gone.listener)
            self._hub.leave_alone(key)
            gone.view.remove()
