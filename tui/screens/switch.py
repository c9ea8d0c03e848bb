"""Asks before another model goes on with a conversation, and says what that comes to; staying is marked at first.

Where something runs there, the model can take over when that has ended, or is interrupted for it.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget

from agent.commands.model import Decision
from agent.commands.table import SwitchAsked
from agent.literal import visible
from tui.keys import BUSY_SWITCH_KEYS, SWITCH_KEYS
from tui.screens.choosing import LOW_ROWS, ChoosingScreen
from tui.screens.confirm import ConfirmScreen
from tui.widgets.choices import Choice
from tui.widgets.report_view import ReportView
from tui.widgets.state_words import one_line

AROUND_ROWS, AROUND_ROWS_LOW = 7, 4  # border, answers and what parts them from the report


class SwitchScreen(ConfirmScreen):
    """Gives True where the other model is to go on."""

    BINDINGS = SWITCH_KEYS
    DEFAULT_CSS = """
    SwitchScreen #box { max-width: 76; width: 92%; }
    SwitchScreen VerticalScroll { height: auto; margin: 0 0 1 0; scrollbar-size-vertical: 1; }
    SwitchScreen.-low VerticalScroll { margin: 0; }
    """

    def __init__(self, asked: SwitchAsked, quiet_s: float) -> None:
        super().__init__(asked.report.title, "", quiet_s, yes=f"Switch to {one_line(asked.route.model)}", no="Stay")
        self._body = VerticalScroll(ReportView(asked.report.parts), can_focus=False)

    def body(self) -> Widget:
        return self._body

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        rows = event.size.height
        self._body.styles.max_height = max(1, rows - (AROUND_ROWS_LOW if rows < LOW_ROWS else AROUND_ROWS))

    def action_page(self, pages: int) -> None:
        move = self._body.scroll_page_down if pages > 0 else self._body.scroll_page_up
        move(animate=False)


class BusySwitchScreen(ChoosingScreen[Decision | None]):
    """Gives what is to become of what runs, None where nothing is switched."""

    ANSWERS = (Decision.SWITCH, Decision.INTERRUPT, None)
    BINDINGS = BUSY_SWITCH_KEYS
    DEFAULT_CSS = """
    BusySwitchScreen { align: center middle; background: $background 60%; }
    BusySwitchScreen #box {
        width: 92%; max-width: 76; height: auto; max-height: 96%; background: $surface;
        border: round $accent; border-title-color: $text-accent; border-title-style: bold; padding: 0 1;
    }
    BusySwitchScreen VerticalScroll { height: auto; margin: 0 0 1 0; scrollbar-size-vertical: 1; }
    BusySwitchScreen.-low VerticalScroll { margin: 0; }
    """

    def __init__(self, asked: SwitchAsked, quiet_s: float) -> None:
        model = one_line(asked.route.model)
        choices = [Choice(f"{model} when this has ended"), Choice(f"Interrupt it, then {model}"), Choice("Stay")]
        super().__init__(choices, len(choices) - 1, quiet_s)
        self._title = f"Something runs here. {asked.report.title}"
        self._body = VerticalScroll(ReportView(asked.report.parts), can_focus=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(visible(self._title))
            yield self._body
            yield self.answers

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        rows = event.size.height
        self._body.styles.max_height = max(1, rows - (AROUND_ROWS_LOW if rows < LOW_ROWS else AROUND_ROWS + 1))

    def take(self, index: int) -> None:
        self.dismiss(self.ANSWERS[index])

    def action_page(self, pages: int) -> None:
        move = self._body.scroll_page_down if pages > 0 else self._body.scroll_page_up
        move(animate=False)

    def action_refuse(self) -> None:
        self.action_choose(len(self.ANSWERS) - 1)

    def action_back_out(self) -> None:
        self.dismiss(None)
