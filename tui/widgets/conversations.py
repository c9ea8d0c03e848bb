"""The transcripts of the sessions that were looked at; one of them is shown."""

from __future__ import annotations

from msgspec import Struct
from textual.containers import Container

from agent.hub import Hub
from agent.listener import Listener
from tui.screens.frames import Frames
from tui.transcript.view import TranscriptView

MOST_IDLE = 8  # hidden transcripts of sessions where nothing runs; an older one is read from its rows again


class Conversation(Struct, frozen=True):
    """A transcript and what it has yet to hear. While it is hidden its listener gathers."""

    view: TranscriptView
    listener: Listener
    frames: Frames


class Conversations(Container):
    """Keeps a transcript as it was left, place and all, and the half of an answer that came meanwhile."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Conversations { height: 1fr; padding: 0 0 0 1; }"

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub = hub
        self._open: dict[str, Conversation] = {}
        self._shown = ""

    @property
    def view(self) -> TranscriptView:
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

    def _begin(self, session_id: str, intro: str) -> Conversation:
        # Between listening and reading the rows nothing is awaited: no event is missed and none is shown twice.
        listener = self._hub.listen(session_id)
        view = TranscriptView()
        view.open(self._hub.runtime(session_id).s.rows, intro)
        if any(other.view.is_formatted for other in self._open.values()):
            view.formatting_ready()  # imported already: its first frame need not show the source
        self.mount(view)
        return Conversation(view, listener, Frames(listener))

    async def _feed(self, session_id: str, conversation: Conversation) -> None:
        while True:
            batch = await conversation.frames.next()
            if conversation.listener.fell_behind():
                conversation.view.open(self._hub.runtime(session_id).s.rows)
            conversation.view.apply(batch)

    def _forget_oldest(self) -> None:
        idle = [key for key in self._open if key != self._shown and not self._hub.runtime(key).is_busy]
        for key in idle[: max(0, len(idle) - MOST_IDLE)]:
            gone = self._open.pop(key)
            self._hub.leave(gone.listener)
            gone.view.remove()
