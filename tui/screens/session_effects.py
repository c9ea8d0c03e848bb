"""What is done with sessions on the main screen: from the sidebar, by commands, and over the one that is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.parse import Call, read_line
from agent.commands.table import DeleteAsked, ListAsked, ListChanged, SearchAsked
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of
from tui.widgets.sidebar import Sidebar
from tui.widgets.state_words import one_line

if TYPE_CHECKING:
    from session.search import Hit
    from tui.screens.main import MainScreen

NOT_SHOWN = (
    "What was found is no part of this conversation any more: it was summarised. /export writes a file that has it."
)
SessionEffect = ListAsked | ListChanged | SearchAsked | DeleteAsked

# The modals are imported where they are opened: a start need not pay for them.


class SessionEffects:
    """Follows what is asked of any session, shown or not, for a main screen."""

    def __init__(self, main: MainScreen) -> None:
        self._main = main
        self.answered = ""  # the session whose question is answered over another one

    def follow(self, effect: SessionEffect) -> None:
        match effect:
            case ListAsked():
                self.reach()
            case SearchAsked(text=text):
                self.search(text)
            case ListChanged():
                self._main.run_worker(self._changed(effect))
            case DeleteAsked():
                self._main.run_worker(self._ask_to_delete(effect), group="confirm", exclusive=True)

    def reach(self) -> None:
        if problem := self._main.sidebar.reach():
            self._main.say(problem)

    def search(self, text: str = "") -> None:
        from tui.screens.search import SearchScreen

        app_of(self._main).push_screen(SearchScreen(self._main.hub, text), self._open_hit)

    def asked(self, event: Sidebar.Asked) -> None:
        """A key of the sidebar."""
        match event.verb:
            case "open":
                self._main.go_to(event.session_id)
            case "preview":
                self._main.run_worker(self._preview(event.session_id), group="preview", exclusive=True)
            case "answer":
                self._answer(event.session_id)
            case "title":
                self._main.run_worker(self._name(event.session_id, event.argument))
            case command:
                self._main.run_worker(self._run(command, event.session_id))

    async def _name(self, session_id: str, title: str) -> None:
        from agent.commands.sessions import name_session

        try:
            self.follow(await name_session(self._main.hub, session_id, title))
        except UserError as error:
            self._main.say(str(error), Level.ERROR)

    async def _run(self, command: str, session_id: str) -> None:
        """A command, on a session that need not be the shown one."""
        call = read_line(f"/{command}")
        if not isinstance(call, Call):
            self._main.say(f"There is no command /{command}.", Level.WARNING)
            return
        try:
            if command == "branch":  # what is taken over is read from an open session
                await self._main.hub.open(session_id)
        except UserError as error:
            self._main.say(str(error), Level.ERROR)
        else:
            await self._main.effects.run(session_id, call, "")

    # --- the list

    async def _changed(self, changed: ListChanged) -> None:
        if changed.gone:
            await self._go_from(changed.gone)
        await self._read_list(changed.text, changed.level)

    async def _read_list(self, said: str, level: Level) -> None:
        main = self._main
        try:
            main.sessions.sync(await main.hub.catch_up())
        except UserError as error:
            main.say(str(error), Level.ERROR)
        main.say(said, level)
        main.tell()

    async def _go_from(self, session_id: str) -> None:
        """Show another session in the place of one that leaves the list: its neighbour, else a new one."""
        main = self._main
        if main.runtime.id == session_id:
            near = main.sessions.neighbour(1) or main.sessions.neighbour(-1)
            await main.bring(near or main.hub.create(Path(main.runtime.s.session.cwd)).id)
        main.sessions.drop(session_id)

    async def _ask_to_delete(self, asked: DeleteAsked) -> None:
        from tui.screens.confirm import ConfirmScreen

        quiet_s = self._main.hub.profile.settings.approvals.arm_ms / 1000
        question = ConfirmScreen("Delete this session?", asked.told, quiet_s, yes="Delete it", no="Keep it")
        if await app_of(self._main).push_screen_wait(question):
            await self._delete(asked)

    async def _delete(self, asked: DeleteAsked) -> None:
        from agent.commands.sessions import delete_session

        await self._go_from(asked.goes.session.id)  # first, so that its end is not told as something that befell it
        try:
            changed = await delete_session(self._main.hub, asked.goes)
        except UserError as error:
            await self._read_list(str(error), Level.ERROR)
        else:
            await self._read_list(changed.text, changed.level)

    # --- over the shown session

    def _open_hit(self, hit: Hit | None) -> None:
        if hit is not None:
            self._main.go_to(hit.session_id, hit.message_id)

    def reveal(self, row_id: int) -> None:
        """Go to a row of the shown session. The result of a call stands with the call."""
        rows = self._main.runtime.s.rows
        place = next((place for place, row in enumerate(rows) if row.id == row_id), -1)
        if not any(self._main.conversations.view.reveal(row.id) for row in reversed(rows[: place + 1])):
            self._main.say(NOT_SHOWN)

    async def _preview(self, session_id: str) -> None:
        from agent.stored_sessions import preview
        from tui.screens.preview import PreviewScreen

        try:
            shown = PreviewScreen(await preview(self._main.hub, session_id))
        except UserError as error:
            self._main.say(str(error), Level.WARNING)
            return
        if await app_of(self._main).push_screen_wait(shown):
            self._main.sidebar.leave()
            self._main.go_to(session_id)

    def _answer(self, session_id: str) -> None:
        """Show the oldest question of a session over the one that is shown, then its next one."""
        main = self._main
        pending = main.hub.pending(session_id)
        self.answered = session_id if pending else ""
        if not pending:
            main.say("That session asks nothing now.")
            return
        name = one_line(main.hub.line(session_id).session.title)
        app_of(main).push_screen(main.view_of(pending[0], name), lambda _: self._go_on(session_id))

    def _go_on(self, session_id: str) -> None:
        if self.answered and self._main.hub.pending(session_id):
            self._answer(session_id)
        else:
            self.answered = ""
