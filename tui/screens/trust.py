"""Whether what a folder brings may act: asked by itself at a start, and by /trust."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.commands.table import TrustAsked
from agent.literal import visible
from tui.keys import TRUST_KEYS
from tui.screens.giving_way import GivingWay
from tui.widgets.choices import Choice

YES, NOT_NOW = 0, 1


class TrustScreen(GivingWay[bool]):
    """Gives True for trust, False or None for not now, which is marked."""

    BINDINGS = TRUST_KEYS
    DEFAULT_CSS = """
    TrustScreen { align: center middle; background: $background 60%; }
    TrustScreen #box {
        width: 80%; max-width: 72; height: auto; max-height: 96%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold; padding: 0 1;
    }
    TrustScreen #told { height: auto; margin: 0 0 1 0; }
    """

    def __init__(self, asked: TrustAsked, quiet_s: float, draft: Callable[[events.Event], object]) -> None:
        super().__init__([Choice("Trust"), Choice("Not now")], NOT_NOW, quiet_s, draft)
        self._told = f"{asked.folder} brings files that have no effect unless you trust them:\n{asked.told}"

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Trust this folder?"
            yield Static(Content(visible(self._told)), id="told", markup=False)
            yield self.answers

    def take(self, index: int) -> None:
        self.dismiss(index == YES)

    def action_back_out(self) -> None:
        self.dismiss(False)

    def action_refuse(self) -> None:
        self.action_choose(NOT_NOW)
