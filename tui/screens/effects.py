"""What commands come to on the main screen: a line, a modal, another session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.commands.parse import Call
from agent.commands.table import (
    ContextAsked,
    Copied,
    DeleteAsked,
    EditorAsked,
    Effect,
    Entered,
    HelpAsked,
    ImagesAsked,
    KeyAsked,
    Left,
    ListAsked,
    ListChanged,
    ModelsAsked,
    Opened,
    Page,
    PersonalityAsked,
    PromptsAsked,
    Renamed,
    Reported,
    RewindAsked,
    Said,
    ScreenAsked,
    SearchAsked,
    SettingsAsked,
    SetupAsked,
    SwitchAsked,
    TakenBack,
    ThemeChosen,
    TrustAsked,
)
from session.models import Level
from tui.app_of import app_of
from tui.commands.run import run_command
from tui.theme_choice import ThemeAsked

if TYPE_CHECKING:
    from tui.screens.main import MainScreen
    from tui.screens.session_effects import SessionEffects

# The modals are imported where they are opened: a start need not pay for them.


class Effects:
    """Runs commands for a main screen and follows where they lead."""

    def __init__(self, main: MainScreen, sessions: SessionEffects) -> None:
        self._main = main
        self._sessions = sessions

    async def run(self, session_id: str, call: Call, line: str) -> None:
        """Run a command that was written as `line` in a session. A line that came to nothing is there to be mended."""
        effect = await run_command(self._main.hub, session_id, call)
        is_to_mend = isinstance(effect, Said) and effect.level is not Level.INFO and not call.command.may_hold_secret
        if is_to_mend and not self._main.composer.text:
            self._main.composer.set_draft(line)
        self.follow(effect)

    def follow(self, effect: Effect) -> None:
        match effect:
            case Said(text=text, level=level):
                self._main.say(text, level)
                self._main.tell_line()
            case Opened(session_id=session_id, row_id=row_id):
                self._main.go_to(session_id, row_id)
            case ListAsked() | ListChanged() | SearchAsked() | DeleteAsked():
                self._sessions.follow(effect)
            case Entered() | Renamed():
                self._main.post_message(self._main.ProfileAsked(effect))
            case Copied(text=text):
                app_of(self._main).copy_to_clipboard(text)
            case PromptsAsked():
                self._main.action_outline()
            case HelpAsked():
                self._main.action_help()
            case SettingsAsked():
                self._main.action_settings()
            case RewindAsked() | TakenBack():
                self._go_back(effect)
            case ThemeChosen():
                self._main.post_message(ThemeAsked(effect))
            case TrustAsked():
                self._main.run_worker(self._ask_trust(effect), group="confirm", exclusive=True)
            case Left():
                self._main.leave()
            case ScreenAsked() | EditorAsked() | ImagesAsked():
                self._main.run_worker(self._on_screen(effect))
            case ModelsAsked() | SwitchAsked() | SetupAsked():
                self._main.run_worker(self._ask_model(effect))
            case PersonalityAsked():
                self._main.run_worker(self._ask_personality(effect), group="personality", exclusive=True)
            case KeyAsked() | Page() | Reported() | ContextAsked():
                self._open(effect)

    def _open(self, effect: KeyAsked | Page | Reported | ContextAsked) -> None:
        push = app_of(self._main).push_screen
        match effect:
            case KeyAsked():
                from tui.screens.key import KeyScreen

                push(KeyScreen(self._main.hub, effect), self._hear_key)
            case Page(title=title, markdown=markdown):
                from tui.screens.page import PageScreen

                push(PageScreen(title, markdown))
            case Reported(report=report):
                from tui.screens.report import ReportScreen

                push(ReportScreen(report))
            case ContextAsked():
                from tui.screens.context import ContextScreen

                push(ContextScreen(effect))

    async def _ask_personality(self, effect: PersonalityAsked) -> None:
        from tui.screens.personality import ask

        await ask(self._main, effect)

    def _go_back(self, effect: RewindAsked | TakenBack) -> None:
        from tui.screens import going_back

        if isinstance(effect, TakenBack):
            going_back.tell(self._main, effect)
        else:
            self._main.run_worker(going_back.ask(self._main, effect), group="rewind", exclusive=True)

    def _hear_key(self, said: str | None) -> None:
        if said:
            self._main.reintroduce()
            self.follow(Said(said))

    async def _ask_trust(self, asked: TrustAsked) -> None:
        from tui.screens.first_look import ask_trust

        await ask_trust(self._main, asked)

    async def _on_screen(self, asked: ScreenAsked | EditorAsked | ImagesAsked) -> None:
        from tui.screens import screen_effects

        await screen_effects.follow(self._main, asked)

    async def _ask_model(self, effect: ModelsAsked | SwitchAsked | SetupAsked) -> None:
        from tui.screens import model_effects

        match effect:
            case ModelsAsked():
                await model_effects.ask_model(self._main, effect)
            case SwitchAsked():
                await model_effects.ask_switch(self._main, effect)
            case SetupAsked(session_id=session_id):
                offers = await model_effects.what_is_offered(self._main)
                await model_effects.set_up(self._main, session_id, offers)
