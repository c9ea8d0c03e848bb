"""The one table of commands: slash commands, help and completion are read from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.commands.report import Figures, Part, Report
from agent.commands.suggestions import Suggestion
from agent.hub import Hub
from agent.image_files import ImageFile
from agent.rewinding import Preview
from agent.session_model import Holds
from agent.stored_sessions import Goes
from session.models import Level, Route

if TYPE_CHECKING:
    from agent.context.split import ContextSplit


class When(StrEnum):
    """When a command is allowed."""

    ALWAYS = "always"
    IDLE = "idle"  # not while a turn runs in the session


class Said(Struct, frozen=True):
    """The command answers with a line."""

    text: str
    level: Level = Level.INFO


class Opened(Struct, frozen=True):
    """The command leads to a session, which the screen shows: at a row where one is named."""

    session_id: str
    row_id: int = 0


class ListAsked(Struct, frozen=True):
    """The command leads to the list of sessions."""


class ListChanged(Struct, frozen=True):
    """The command changed a session of the list, and says what. `gone` is one that is no part of it any more."""

    text: str
    gone: str = ""
    level: Level = Level.INFO


class SearchAsked(Struct, frozen=True):
    """The command leads to a search over all sessions, begun with `text`."""

    text: str


class DeleteAsked(Struct, frozen=True):
    """The command would remove a session, about which the person has to be asked: `told` says what goes.

    Whoever gets a yes calls `delete_session` in agent/commands/sessions.py.
    """

    goes: Goes
    told: str


class Entered(Struct, frozen=True):
    """The command leads to another profile, which the front end opens beside those that are open."""

    profile: str


class Renamed(Struct, frozen=True):
    """The command gives the profile that is shown another name, which only the program that has it open can do."""

    profile: str


class KeyAsked(Struct, frozen=True):
    """The command asks for a key, which no line of text may hold. `intro` says what becomes of it."""

    session_id: str
    name: str
    intro: str


class Page(Struct, frozen=True):
    """The command answers with a page of markdown."""

    title: str
    markdown: str


class Reported(Struct, frozen=True):
    """The command answers with figures."""

    report: Report


class ContextAsked(Struct, frozen=True):
    """The command answers with what fills the context. A screen may draw `split` in the place of its table."""

    split: ContextSplit
    above: tuple[Part, ...]
    table: Figures
    below: tuple[Part, ...]

    @property
    def report(self) -> Report:
        return Report("Context", (*self.above, self.table, *self.below))


class SwitchAsked(Struct, frozen=True):
    """The command leads to another model, about which the person should be asked first: what `report` says.

    `is_busy`: something runs in the session, and the model can take over when that has ended, or is interrupted.
    Whoever gets a yes calls `switch` in agent/commands/model.py.
    """

    session_id: str
    route: Route
    report: Report
    holds: Holds = Holds.SESSION
    is_busy: bool = False


class ModelsAsked(Struct, frozen=True):
    """The command leads to a list of models, of which the person chooses one. `holds` is how long that holds at first.

    Whoever has the choice calls `switch_or_ask` in agent/commands/model.py.
    """

    session_id: str
    holds: Holds = Holds.SESSION


class PersonalityAsked(Struct, frozen=True):
    """The command leads to a list of personalities; `is_global`: what is chosen then holds for new sessions, too.

    Whoever has the choice calls `choose` in agent/commands/personality.py.
    """

    session_id: str
    is_global: bool = False


class Copied(Struct, frozen=True):
    """The command puts a text on the clipboard, which the front end knows."""

    text: str


class PromptsAsked(Struct, frozen=True):
    """The command answers with the prompts of the conversation that is shown, to go to one of them."""


class RewindAsked(Struct, frozen=True):
    """The command leads back to before something the person said: `seen` tells what that comes to, None where they
    choose first. `is_retry`: it is then sent again.

    Whoever gets a yes calls `carry_out` in agent/commands/rewind.py.
    """

    session_id: str
    seen: Preview | None = None
    is_retry: bool = False


class TakenBack(Struct, frozen=True):
    """Something was taken back: `prompt` may stand in the draft again, `said` tells what was done."""

    session_id: str
    prompt: str
    said: str
    level: Level = Level.INFO


class HelpAsked(Struct, frozen=True):
    """The command answers with all commands, and whatever else the front end is worked with."""


class SettingsAsked(Struct, frozen=True):
    """The command leads to the list of settings."""


class TrustAsked(Struct, frozen=True):
    """The command leads to trusting a folder, about which the person is asked: `told` says what would act.

    Whoever gets a yes calls `trust`, which tells from when on it holds; whoever gets a no calls `refuse`, so that nobody is
    asked by itself again. Both may raise UserError.
    """

    folder: str
    told: str
    trust: Callable[[], Awaitable[str]]
    refuse: Callable[[], Awaitable[None]]


class SetupAsked(Struct, frozen=True):
    """The command leads to a first model: what can be had at once, a key, or the demo."""

    session_id: str


class EditorAsked(Struct, frozen=True):
    """The command leads to the person's own editor, with the draft: `text` where there is none."""

    text: str


class ImagesAsked(Struct, frozen=True):
    """The command puts images into the draft: these, or the one on the clipboard where there are none."""

    session_id: str
    files: tuple[ImageFile, ...]


class ThemeChosen(Struct, frozen=True):
    """The command gives the screen other colours, and says so."""

    name: str
    text: str
    level: Level = Level.INFO


class OnScreen(StrEnum):
    """What only a screen can do, or tell."""

    REDRAW = "redraw"
    RELOAD = "reload"
    UNFOLD = "unfold"
    FOLD = "fold"
    SHOW_THINKING = "show thinking"
    FOLD_THINKING = "fold thinking"
    HIDE_THINKING = "hide thinking"
    LOG = "log"
    DOCTOR = "doctor"
    KEYS = "keys"
    PALETTE = "palette"


class ScreenAsked(Struct, frozen=True):
    """The command has the screen do something of its own, or tell what its program knows beside the sessions."""

    wish: OnScreen
    lines: int = 0  # of a log


class Left(Struct, frozen=True):
    """The command leaves the program."""


Effect = (
    Said
    | Opened
    | ListAsked
    | ListChanged
    | SearchAsked
    | DeleteAsked
    | Entered
    | Renamed
    | KeyAsked
    | Page
    | Reported
    | ContextAsked
    | SwitchAsked
    | ModelsAsked
    | PersonalityAsked
    | RewindAsked
    | TakenBack
    | Copied
    | PromptsAsked
    | HelpAsked
    | SettingsAsked
    | ThemeChosen
    | SetupAsked
    | EditorAsked
    | ImagesAsked
    | TrustAsked
    | ScreenAsked
    | Left
)


class Command(Struct, frozen=True):
    """One command. `arguments` is how they are written in help; `act` gets hub, session id and the argument text.

    `may_hold_secret`: by mistake its line may hold one, so it is kept nowhere. `complete` gets hub, session id and what is
    written of the argument, and tells what that could become; it runs at each key and must not wait for anything.
    """

    name: str
    arguments: str
    summary: str
    when: When
    act: Callable[[Hub, str, str], Awaitable[Effect]]
    aliases: tuple[str, ...] = ()
    may_hold_secret: bool = False
    complete: Callable[[Hub, str, str], Sequence[Suggestion]] | None = None
