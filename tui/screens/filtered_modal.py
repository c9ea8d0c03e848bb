"""A list that opens over the main screen, with a field that filters it."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual.content import Content
from textual.widgets import Input, Static

from tui.bound_keys import run_bound
from tui.screens.choosing import is_too_small
from tui.screens.modal import Modal
from tui.widgets.line_field import LineField
from tui.widgets.row_list import RowList

T = TypeVar("T")


class FilteredModal(Modal[T | None]):
    """A list under a field that filters it, and a line told of it. Esc gives nothing."""

    DEFAULT_CSS = """
    FilteredModal { align: center middle; background: $background 60%; }
    FilteredModal #box {
        width: 92%; max-width: 104; height: 84%; min-height: 6; background: $surface; padding: 0 1;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%;
    }
    FilteredModal Input, FilteredModal Input:focus {
        height: 1; border: none; padding: 0; background: $surface; margin: 0 1;
    }
    FilteredModal #told { height: 1; color: $foreground 68%; margin: 0 1; }
    FilteredModal RowList { background: $surface; }
    FilteredModal.-too-small #box { height: 100%; width: 100%; border: none; }
    """

    def __init__(self, rows: RowList, placeholder: str = "Type to filter") -> None:
        super().__init__()
        self._row_list = rows
        self._field = LineField(placeholder=placeholder, compact=True)
        self._field.cursor_blink = False
        self._told = Static(Content(""), id="told")

    async def on_key(self, event: events.Key) -> None:
        """Keys of the list in their order among what is typed."""
        await run_bound(self, event)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(is_too_small(event.size), "-too-small")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_decide()

    def action_move(self, step: int) -> None:
        self._row_list.move(step)

    def action_page(self, pages: int) -> None:
        self._row_list.move_page(pages)

    def action_decide(self) -> None:
        """Take what is marked."""
        raise NotImplementedError

    def action_leave(self) -> None:
        self.dismiss()
