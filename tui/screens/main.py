"""The screen a person lives in: sessions, a conversation, a draft and one row of facts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from agent.commands.table import Entered, Renamed
from agent.events import Notice, ReasoningDelta, TextDelta, TurnEnded, TurnEvent, TurnStarted
from agent.hub import Hub
from agent.literal import visible
from agent.runtime import Runtime
from agent.session_lines import SessionLine
from agent.stored_sessions import every_line
from agent.tools import ask_user
from agent.watcher import Watcher
from agent.workspace import about_folder
from session.errors import UserError
from session.models import ApprovalRequest, Level
from tui.announcer import Announcer
from tui.app_of import app_of
from tui.hints import keymap_of, with_keys
from tui.keys import MAIN_KEYS
from tui.screens.choosing import LEAST_CELLS, LEAST_ROWS, is_too_small
from tui.screens.conversation_keys import ConversationKeys
from tui.screens.drafts import composer_for
from tui.screens.effects import Effects
from tui.screens.first_look import FirstLook
from tui.screens.frames import Frames
from tui.screens.sending import Sending
from tui.screens.session_effects import SessionEffects
from tui.screens.told_status import status_of
from tui.widgets.conversations import Conversations
from tui.widgets.queue import QueueBar
from tui.widgets.session_list import SessionList
from tui.widgets.sidebar import Sidebar
from tui.widgets.status_bar import StatusBar
from tui.widgets.waiting import Waits

if TYPE_CHECKING:
    from tui.screens.approval import ApprovalScreen
    from tui.screens.question import QuestionScreen

TOO_SMALL = f"This terminal is too small for hermes. Make it at least {LEAST_CELLS} by {LEAST_ROWS}."
AGAIN_S = 1.0  # a second Ctrl+C within this time quits
SEVERITY: dict[Level, Literal["information", "warning", "error"]] = {
    Level.INFO: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
}


class MainScreen(ConversationKeys):
    """Shows one session of the hub at a time, listens to all, and passes on what the person does."""

    BINDINGS = MAIN_KEYS
    AUTO_FOCUS = "Composer"  # else the first keys would go to the sidebar

    class ProfileAsked(Message):
        """A command leads to another profile, or gives this one another name: the app's to do."""

        def __init__(self, effect: Entered | Renamed) -> None:
            super().__init__()
            self.effect = effect

    class HeardAway(Message):
        """Something happened here while another profile has the screen."""

    def __init__(
        self, hub: Hub, session_id: str, clock: Callable[[], float], announcer: Announcer, *, asks: bool = False
    ) -> None:
        super().__init__()
        self._hub = hub
        self._first_look = FirstLook(self, asks=asks)
        self._announcer = announcer
        self._shown = session_id
        self._answers: dict[str, str] = {}  # what is written to questions that are not answered yet
        self.is_away = False  # another profile has the screen; what happens here is not shown
        self.asking_elsewhere = 0  # sessions of other profiles that ask something
        self._clock = clock
        self._began_s = clock()
        self._stop_s = float("-inf")  # when Ctrl+C last found nothing to do
        self._seconds: Timer | None = None
        self._waits = Waits(clock)
        self._session_effects = SessionEffects(self)
        self.effects = Effects(self, self._session_effects)
        self._watcher = Watcher(hub, self._is_showing, self._hear_listing)
        self.sidebar = Sidebar(lambda: every_line(hub), clock, hub.profile.settings.display.sidebar)
        self.conversations = Conversations(hub, clock)
        self.sending = Sending(self, self._first_look)
        self.composer, self.drafts = composer_for(hub, lambda: self._shown, self.sending.take, self.leave)
        self.composer.on_pasted = self.sending.heed_paste
        self.queue_bar = QueueBar(lambda: self.runtime, self.composer)
        self.status_bar = StatusBar()

    # --- what stands where

    def compose(self) -> ComposeResult:
        with Horizontal(id="room"):
            yield self.sidebar
            with Vertical():
                yield self.conversations
                yield self.queue_bar
                yield self.composer.suggestions
                yield self.composer
                yield self.status_bar
        yield Static(TOO_SMALL, id="too-small", markup=False)

    def on_mount(self) -> None:
        self._seconds = self.set_interval(1, self._tick, pause=True)
        self._fit(app_of(self).size)
        self._bring(self._shown)
        self.run_worker(self._watch())
        self.run_worker(self._watcher.run())
        self.watch(app_of(self), "app_focus", self._watcher.focus)
        self.call_after_refresh(lambda: self.run_worker(self._first_look.look()))

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        self.set_class(is_too_small(size), "-too-small")
        self.sidebar.fit(size.width)

    # --- which session is shown

    @property
    def hub(self) -> Hub:
        return self._hub

    @property
    def runtime(self) -> Runtime:
        return self._hub.runtime(self._shown)

    @property
    def sessions(self) -> SessionList:
        return self.sidebar.sessions

    def show(self, session_id: str) -> None:
        """Go to a session that is open in the hub. Drafts stay with theirs; turns elsewhere go on."""
        if session_id != self._shown:
            self._bring(session_id)
        self.composer.focus()

    def _bring(self, session_id: str) -> None:
        if session_id != self._shown:
            self._hub.mark_read(self._shown)  # up to now, whatever ends there later
        self._shown = session_id
        self.drafts.bring(self.runtime.s)
        self._hub.mark_read(session_id)
        self.conversations.show(session_id, self._first_look.intro())
        self.sessions.show(session_id)
        self.sessions.put(self._hub.line(session_id))
        self.composer.focus()
        self.tell()
        self._ask()

    def go_to(self, session_id: str, row_id: int = 0) -> None:
        """Open a session, from the store if need be, and show it: at a row where one is named."""
        self.run_worker(self.bring(session_id, row_id), group="open", exclusive=True)

    async def bring(self, session_id: str, row_id: int = 0) -> None:
        try:
            runtime = await self._hub.open(session_id)
        except UserError as error:
            self.say(str(error), Level.ERROR)
        else:
            self.show(runtime.id)
            if row_id:
                self._session_effects.reveal(row_id)
            await self._tell_of_folder()

    async def _tell_of_folder(self) -> None:
        """A session whose folder was moved away says so, and what to do (E10)."""
        if said := await asyncio.to_thread(about_folder, self.runtime.s.session):
            self.say(said, Level.WARNING)

    # --- what happens in the sessions

    def _is_showing(self) -> bool:
        """Whether what another process does could be seen here."""
        return not self.is_away and (self.sidebar.display or self.runtime.s.is_stored)

    def _hear_listing(self, lines: list[SessionLine]) -> None:
        self.sessions.sync(lines)
        self.tell()

    async def _watch(self) -> None:
        """Follow all sessions: their state in the sidebar, their questions, how full the shown one is."""
        frames = Frames(self._hub.listen())
        while True:
            self._hear(await frames.next())

    def _hear(self, happened: list[TurnEvent]) -> None:
        over = [event for event in happened if self._waits.hear(event)]
        heard = [event for event in happened if self._hub.is_open(event.at.session)]
        told = [event for event in heard if not isinstance(event, TextDelta | ReasoningDelta)]
        self._announcer.hear(self._hub, told)
        for event in told:
            match event:
                case Notice(at=at, level=level, text=text) if at.session == self._shown:
                    self.say(text, level)
                case TurnStarted(at=at):
                    self.sessions.lift(at.session)
                case TurnEnded(at=at, error=error):
                    self._hear_end(at.session, error)
                case _:
                    pass
        for session_id in dict.fromkeys(event.at.session for event in told):
            self.sessions.put(self._hub.line(session_id))
        if told or over:
            self.tell()
        if told:
            self._ask()

    def _hear_end(self, session_id: str, error: str) -> None:
        s = self._hub.runtime(session_id).s
        if session_id == self._shown and not self.is_away:
            self._hub.mark_read(session_id)
        if error and not (s.rows and s.rows[-1].content == error):  # else its transcript says it already
            self.say(error if session_id == self._shown else f"{s.session.title}: {error}", Level.ERROR)

    def on_screen_resume(self) -> None:
        if self.is_mounted:
            self._ask()

    def _ask(self) -> None:
        """Show the oldest open question of this session, or let the shown one follow its request."""
        if self.is_away:
            self.post_message(self.HeardAway())
            return
        top, pending = app_of(self).screen, self._hub.pending(self._shown)
        if top is self and not pending:
            return
        from tui.screens.approval import ApprovalScreen  # with the first question: a start need not pay for them
        from tui.screens.approval_step import ApprovalStep
        from tui.screens.question import QuestionScreen

        if isinstance(top, ApprovalScreen | ApprovalStep | QuestionScreen):
            top.sync(self._session_effects.answered or self._shown)
        elif pending:
            app_of(self).push_screen(self.view_of(pending[0]))

    def view_of(self, request: ApprovalRequest, name: str = "") -> ApprovalScreen | QuestionScreen:
        """The question as a modal; `name` is that of its session where another one is shown."""
        if request.tool == ask_user.NAME:
            from tui.screens.question import QuestionScreen

            return QuestionScreen(self._hub, request, self.action_switch, self._answers, self._keep, name)
        from tui.screens.approval import ApprovalScreen

        return ApprovalScreen(self._hub, request, self.action_switch, name)

    def _keep(self, unsent: str) -> None:
        """What was written to a question that is over, unless there is a draft already."""
        if not self.composer.text:
            self.composer.set_draft(unsent)

    def tell(self) -> None:
        """Bring the status row and the queue up to date. Once a second while a turn runs, never while idle."""
        runtime = self.runtime
        self.queue_bar.tell(runtime.queue, is_held=runtime.queue_is_held)
        status = status_of(self._hub, runtime, self._waits, self._clock(), self.asking_elsewhere, keymap_of(self))
        self.status_bar.tell(status)
        self._announcer.tell(self._hub, runtime, status, is_shown=not self.is_away)
        if self._seconds is not None:
            (self._seconds.resume if runtime.is_busy else self._seconds.pause)()

    def _tick(self) -> None:
        self.conversations.tick()
        self.tell()

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """A line that passes."""
        for holder in app_of(self).screen.query("ToastHolder"):
            if not holder.children:
                holder.remove()  # Textual leaves it where another line came just as its own was over
        timeout_s = 3 if level is Level.INFO else None
        app_of(self).notify(visible(text), severity=SEVERITY[level], timeout=timeout_s, markup=False)

    # --- what the person does

    def tell_line(self) -> None:
        """Bring the shown session's line in the sidebar up to date, and what is told of it above and below."""
        self.reintroduce()
        self.sessions.put(self._hub.line(self._shown))
        self.tell()

    def reintroduce(self) -> None:
        """Another model answers a new session than its first words say."""
        self.conversations.reintroduce(self._shown, self._first_look.intro())

    def leave(self) -> None:
        self._hub.mark_read(self._shown)
        app_of(self).exit()

    def stop(self) -> None:
        """Ctrl+C: copy what is selected; else interrupt; else clear the draft; else quit, when pressed twice (F05)."""
        now = self._clock()
        if self.conversations.view.copy_selection() or self._hub.interrupt(self._shown):
            return
        if self.composer.text:
            self.composer.clear()
            self.say("Draft cleared. ctrl+z brings it back.")
        elif now - self._stop_s <= AGAIN_S:
            self.leave()
        else:
            # A press in the first second may be meant for the shell that started us.
            self._stop_s = now if now - self._began_s > AGAIN_S else self._stop_s
            self.say(with_keys(self, "Press {app.stop} again to quit."))

    def on_sidebar_asked(self, event: Sidebar.Asked) -> None:
        self._session_effects.asked(event)

    def on_sidebar_left(self) -> None:
        self.composer.focus()

    def on_session_list_troubled(self, event: SessionList.Troubled) -> None:
        self.say(str(event.error), Level.ERROR)

    # --- keys

    def on_key(self, event: events.Key) -> None:
        """What is typed while the sidebar has the focus is meant for the draft."""
        if event.character and event.is_printable and self.focused is not self.composer:
            self.composer.focus()
            self.composer.insert(event.character)

    def on_paste(self, event: events.Paste) -> None:
        self.composer.focus()
        self.composer.on_paste(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # A page is one of the list while the keys are there.
        return not (action in ("page_up", "page_down") and self.sessions.has_focus)

    def action_interrupt(self) -> None:
        if not self._hub.interrupt(self._shown):
            self.composer.focus()

    def action_next_pending(self) -> None:
        waiting = [request.session_id for request in self._hub.pending() if request.session_id != self._shown]
        if waiting:
            self.go_to(waiting[0])
        else:
            self.say("No other session asks for anything.")

    def action_sessions(self) -> None:
        self._session_effects.reach()

    def action_search(self) -> None:
        self._session_effects.search()

    def action_switch(self, step: int) -> None:
        self._session_effects.answered = ""
        if session_id := self.sessions.neighbour(step):
            self.go_to(session_id)

    def action_toggle_sidebar(self) -> None:
        if problem := self.sidebar.toggle():
            self.say(problem)
