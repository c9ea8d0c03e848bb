"""A yes or no to one sentence; no is marked at first."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from agent.literal import visible
from tui.keys import CONFIRM_KEYS
from tui.screens.choosing import ChoosingScreen
from tui.widgets.choices import Choice

YES, NO = 0, 1


class ConfirmScreen(ChoosingScreen[bool]):
    """Gives True for yes, False for no and for Esc."""

    BINDINGS = CONFIRM_KEYS
    DEFAULT_CSS = """
    ConfirmScreen { align: center middle; background: $background 60%; }
    ConfirmScreen #box {
        width: 80%; max-width: 72; height: auto; max-height: 96%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold; padding: 0 1;
    }
    ConfirmScreen #sentence { height: auto; margin: 0 0 1 0; }
    """

    def __init__(self, title: str, sentence: str, quiet_s: float, *, yes: str = "Yes", no: str = "No") -> None:
        super().__init__([Choice(yes), Choice(no)], NO, quiet_s)
        self._title = title
        self._sentence = sentence

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(visible(self._title))
            yield self.body()
            yield self.answers

    def body(self) -> Widget:
        """What is asked about."""
        return Static(Content(visible(self._sentence)), id="sentence", markup=False)

    def take(self, index: int) -> None:
        self.dismiss(index == YES)

    def action_back_out(self) -> None:
        self.dismiss(False)

    def action_refuse(self) -> None:
        self.action_choose(NO)
