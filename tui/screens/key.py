"""Asks for a key, and keeps it without ever showing it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.commands.key import NotAKey, keep_key
from agent.commands.table import KeyAsked
from agent.hub import Hub
from agent.literal import visible
from session.errors import UserError
from tui.hints import with_keys
from tui.keys import KEY_KEYS
from tui.screens.modal import Modal
from tui.widgets.masked_field import MaskedField


class KeyScreen(Modal[str]):
    """Gives what is true once the key is kept, "" for Esc. What can't be kept is said here, and asked for again."""

    BINDINGS = KEY_KEYS
    DEFAULT_CSS = """
    KeyScreen { align: center middle; background: $background 60%; }
    KeyScreen #box {
        width: 80%; max-width: 72; height: auto; max-height: 96%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    KeyScreen MaskedField { margin: 0 0 1 0; }
    KeyScreen #intro { height: auto; color: $foreground 68%; }
    KeyScreen #problem { height: auto; color: $text-error; margin: 0 0 1 0; display: none; }
    """

    def __init__(self, hub: Hub, asked: KeyAsked) -> None:
        super().__init__()
        self._hub = hub
        self._asked = asked
        self._field = MaskedField(self._keep)
        self._problem = Static(id="problem", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._asked.name)
            box.border_subtitle = Content(with_keys(self, "enter keeps it · {key.leave} leaves"))
            yield self._field  # first, so that it is in sight on the lowest screen
            yield self._problem
            yield Static(Content(visible(self._asked.intro)), id="intro", markup=False)

    def on_mount(self) -> None:
        self._field.focus()

    def action_leave(self) -> None:
        if self._field.is_open:
            self.dismiss("")

    def _keep(self, given: str) -> None:
        self._field.is_open = False  # until it is known what became of it
        self.run_worker(self._kept(given))

    async def _kept(self, given: str) -> None:
        try:
            said = await keep_key(self._hub, self._asked, given)
        except UserError as error:
            self._tell(str(error))
            if isinstance(error, NotAKey):
                self._field.clear()
            self._field.is_open = True
        else:
            self.dismiss(said)

    def _tell(self, problem: str) -> None:
        self._problem.display = True
        self._problem.update(Content(visible(problem)))
