"""The screen a person lives in: sessions, a conversation, a draft and one row of facts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import OptionList, Static

from agent.commands.parse import Call, Mistyped, Text, read_line
from agent.commands.table import Effect, Entered, Left, Opened, Page, Renamed, Said
from agent.config.profile_name import DEFAULT
from agent.events import Notice, ReasoningDelta, TextDelta, TurnEnded, TurnEvent
from agent.hub import Hub
from agent.literal import visible
from agent.runtime import Live, Runtime
from session.errors import UserError
from session.models import ApiMode, Level
from tui.app_of import app_of
from tui.commands.run import mistyped_text, run_command
from tui.keys import MAIN_KEYS
from tui.screens.approval import ApprovalScreen
from tui.screens.choosing import LEAST_CELLS, LEAST_ROWS, is_too_small
from tui.screens.frames import Frames
from tui.widgets.composer import Composer
from tui.widgets.conversations import Conversations
from tui.widgets.queue import QueueBar
from tui.widgets.sidebar import WIDTH, SessionList, Sidebar
from tui.widgets.status_bar import Status, StatusBar

WIDE_CELLS = 100  # from here on the sidebar stands beside the conversation
SIDEBAR_CELLS = WIDTH + LEAST_CELLS  # the least that holds both
TOO_SMALL = f"This terminal is too small for hermes. Make it at least {LEAST_CELLS} by {LEAST_ROWS}."
AGAIN_S = 1.0  # a second Ctrl+C within this time quits
HINTS = {Live.WORKING: "esc interrupts", Live.ASKING: "ctrl+c interrupts"}  # Esc denies what is asked
SEVERITY: dict[Level, Literal["information", "warning", "error"]] = {
    Level.INFO: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
}


class MainScreen(Screen[None]):
    """Shows one session of the hub at a time, listens to all, and passes on what the person does."""

    BINDINGS = MAIN_KEYS

    class ProfileAsked(Message):
        """A command leads to another profile, or gives this one another name: the app's to do."""

        def __init__(self, effect: Entered | Renamed) -> None:
            super().__init__()
            self.effect = effect

    class HeardAway(Message):
        """Something happened here while another profile has the screen."""

    def __init__(self, hub: Hub, session_id: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self._hub = hub
        self._shown = session_id
        self._drafts: dict[str, str] = {}
        self.is_away = False  # another profile has the screen; what happens here is not shown
        self.asking_elsewhere = 0  # sessions of other profiles that ask something
        self._clock = clock
        self._began_s = clock()
        self._stop_s = float("-inf")  # when Ctrl+C last found nothing to do
        self._wants_sidebar: bool | None = None  # what the person asked for, over what the width suggests
        self._seconds: Timer | None = None
        self.sidebar = Sidebar()
        self.conversations = Conversations(hub)
        self.queue_bar = QueueBar()
        self.composer = Composer(self.take_draft, self.leave)
        self.status_bar = StatusBar()

    # --- what stands where

    def compose(self) -> ComposeResult:
        with Horizontal(id="room"):
            yield self.sidebar
            with Vertical():
                yield self.conversations
                yield self.queue_bar
                yield self.composer
                yield self.status_bar
        yield Static(TOO_SMALL, id="too-small", markup=False)

    def on_mount(self) -> None:
        self._seconds = self.set_interval(1, self.tell, pause=True)
        self._fit(app_of(self).size)
        self._bring(self._shown)
        self.run_worker(self._watch())
        self.call_after_refresh(lambda: self.run_worker(self._look_around()))

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        self.set_class(is_too_small(size), "-too-small")
        is_wanted = size.width >= WIDE_CELLS if self._wants_sidebar is None else self._wants_sidebar
        self.sidebar.display = is_wanted and size.width >= SIDEBAR_CELLS

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
            self._drafts[self._shown] = self.composer.text
            self.composer.set_draft(self._drafts.pop(session_id, ""))
            self._bring(session_id)
        self.composer.focus()

    def _bring(self, session_id: str) -> None:
        self._shown = session_id
        self._hub.mark_read(session_id)
        self.conversations.show(session_id, self._intro())
        self.sessions.put(self._hub.line(session_id))
        self.sessions.show(session_id)
        self.composer.focus()
        self.tell()
        self._ask()

    def go_to(self, session_id: str) -> None:
        """Open a session, from the store if need be, and show it."""
        self.run_worker(self._open(session_id), group="open", exclusive=True)

    async def _open(self, session_id: str) -> None:
        try:
            runtime = await self._hub.open(session_id)
        except UserError as error:
            self.say(str(error), Level.ERROR)
        else:
            self.show(runtime.id)

    def _intro(self) -> str:
        is_demo = self._hub.choice.route.api_mode is ApiMode.DEMO
        start = "Type help to see what the demo can do." if is_demo else "Ask for something below."
        folder = self.runtime.s.session.cwd
        return f"Working in {folder}\n\n{self._hub.greeting}\n\n{start} /help lists commands and keys."

    async def _look_around(self) -> None:
        for sentence in self._hub.remarks:
            self.say(sentence, Level.WARNING)
        try:
            self.sessions.fill(await self._hub.listing())
        except UserError as error:
            self.say(str(error), Level.ERROR)
        for sentence in await self._hub.look_around():
            self.say(sentence)

    # --- what happens in the sessions

    async def _watch(self) -> None:
        """Follow all sessions: their state in the sidebar, their questions, how full the shown one is."""
        frames = Frames(self._hub.listen())
        while True:
            self._hear(await frames.next())

    def _hear(self, happened: list[TurnEvent]) -> None:
        told = [event for event in happened if not isinstance(event, TextDelta | ReasoningDelta)]
        for event in told:
            match event:
                case Notice(at=at, level=level, text=text) if at.session == self._shown:
                    self.say(text, level)
                case TurnEnded(at=at, error=error):
                    self._hear_end(at.session, error)
                case _:
                    pass
        for session_id in {event.at.session for event in told}:
            self.sessions.put(self._hub.line(session_id))
        if told:
            self.tell()
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
        top = app_of(self).screen
        if isinstance(top, ApprovalScreen):
            top.sync(self._shown)
        elif pending := self._hub.pending(self._shown):
            app_of(self).push_screen(ApprovalScreen(self._hub, pending[0], self.action_switch))

    def tell(self) -> None:
        """Bring the status row and the queue up to date. Once a second while a turn runs, never while idle."""
        runtime = self.runtime
        since = runtime.working_since
        self.queue_bar.tell(runtime.queue, is_held=runtime.queue_is_held)
        self.status_bar.tell(
            Status(
                model=runtime.s.route.model,
                state=runtime.state,
                context=self._hub.context(self._shown),
                folder=self._place(runtime),
                working_s=int(self._clock() - since) if since is not None else 0,
                queued=len(runtime.queue),
                hint=self._hint(runtime),
            )
        )
        if self._seconds is not None:
            (self._seconds.resume if runtime.is_busy else self._seconds.pause)()

    def _place(self, runtime: Runtime) -> str:
        """The folder, after the profile where it is not the first one."""
        profile, folder = self._hub.profile.name, Path(runtime.s.session.cwd).name
        return folder if profile == DEFAULT else f"{profile}: {folder}"

    def _hint(self, runtime: Runtime) -> str:
        asking = len({request.session_id for request in self._hub.pending()} - {self._shown})
        if asking:
            return f"{asking} asking · ctrl+n"
        if self.asking_elsewhere:
            return f"{self.asking_elsewhere} asking · /profile"
        return HINTS.get(runtime.state, "/help")

    def say(self, text: str, level: Level = Level.INFO) -> None:
        """A line that passes."""
        timeout_s = 3 if level is Level.INFO else None
        app_of(self).notify(visible(text), severity=SEVERITY[level], timeout=timeout_s, markup=False)

    # --- what the person does

    def take_draft(self, text: str) -> None:
        """Enter. Called by the composer itself, so that the prompt goes to the session that is shown at this moment."""
        if not text.strip():
            self._send_next()
            return
        match read_line(text):
            case Call() as call:
                self.composer.clear()
                self.run_worker(self._run(self._shown, call, text))
            case Mistyped() as line:
                self.say(mistyped_text(line), Level.WARNING)
            case Text(text=prompt):
                self._submit(prompt)

    def _submit(self, prompt: str) -> None:
        session_id = self._shown
        if why := self._hub.needs_confirmation(session_id):
            self.run_worker(self._confirm(why, session_id, prompt), group="confirm", exclusive=True)
            return
        self._hub.submit(session_id, prompt)  # the request leaves first, then the screen is painted
        self.composer.clear()
        self.conversations.view.follow()
        self.tell()

    async def _confirm(self, why: str, session_id: str, prompt: str) -> None:
        from tui.screens.confirm import ConfirmScreen

        quiet_s = self._hub.profile.settings.approvals.arm_ms / 1000
        if not await app_of(self).push_screen_wait(ConfirmScreen("Use this provider?", why, quiet_s)):
            return
        try:
            await self._hub.confirm()
        except UserError as error:
            self.say(str(error), Level.ERROR)  # it will be asked again; this prompt is confirmed all the same
        if session_id == self._shown and self.composer.text == prompt:
            self._submit(prompt)

    async def _run(self, session_id: str, call: Call, line: str) -> None:
        effect = await run_command(self._hub, session_id, call)
        if isinstance(effect, Said) and effect.level is not Level.INFO and not self.composer.text:
            self.composer.set_draft(line)  # it came to nothing: the line is there to be mended
        self._follow_effect(effect)

    def _follow_effect(self, effect: Effect) -> None:
        match effect:
            case Said(text=text, level=level):
                self.say(text, level)
                self.sessions.put(self._hub.line(self._shown))
                self.tell()
            case Opened(session_id=session_id):
                self.go_to(session_id)
            case Entered() | Renamed():
                self.post_message(self.ProfileAsked(effect))
            case Page(title=title, markdown=markdown):
                from tui.screens.page import PageScreen

                app_of(self).push_screen(PageScreen(title, markdown))
            case Left():
                self.leave()

    def _send_next(self) -> None:
        if self.runtime.queue_is_held and self.runtime.queue:
            self.runtime.release_queue()
            self.tell()

    def leave(self) -> None:
        app_of(self).exit()

    def stop(self) -> None:
        """Ctrl+C with nothing selected: interrupt; else clear the draft; else quit, when pressed twice (F05)."""
        now = self._clock()
        if self._hub.interrupt(self._shown):
            return
        if self.composer.text:
            self.composer.clear()
            self.say("Draft cleared. ctrl+z brings it back.")
        elif now - self._stop_s <= AGAIN_S:
            self.leave()
        else:
            # A press in the first second may be meant for the shell that started us.
            self._stop_s = now if now - self._began_s > AGAIN_S else self._stop_s
            self.say("Press ctrl+c again to quit.")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self.go_to(event.option_id)

    # --- keys

    def on_key(self, event: events.Key) -> None:
        """What is typed while the sidebar has the focus is meant for the draft."""
        if event.character and event.is_printable and self.focused is not self.composer:
            self.composer.focus()
            self.composer.insert(event.character)

    def on_paste(self, event: events.Paste) -> None:
        self.composer.focus()
        self.composer.on_paste(event)

    def action_interrupt(self) -> None:
        if not self._hub.interrupt(self._shown):
            self.composer.focus()

    def action_next_pending(self) -> None:
        waiting = [request.session_id for request in self._hub.pending() if request.session_id != self._shown]
        if waiting:
            self.go_to(waiting[0])
        else:
            self.say("No other session asks for anything.")

    def action_switch(self, step: int) -> None:
        if session_id := self.sessions.neighbour(step):
            self.go_to(session_id)

    def action_toggle_sidebar(self) -> None:
        self._wants_sidebar = not self.sidebar.display
        self._fit(app_of(self).size)
        if self._wants_sidebar and not self.sidebar.display:
            self.say(f"The sidebar needs {SIDEBAR_CELLS} columns. alt+up and alt+down go to other sessions.")
        self.composer.focus()

    def action_take_back(self) -> None:
        text = self.runtime.take_back()
        if text is None:
            return
        draft = self.composer.text
        self.composer.set_draft(f"{text}\n{draft}" if draft else text)
        self.tell()

    def action_page_up(self) -> None:
        self.conversations.view.action_page_up()

    def action_page_down(self) -> None:
        self.conversations.view.action_page_down()

    def action_follow(self) -> None:
        self.conversations.view.follow()
