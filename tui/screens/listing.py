"""A list to find something in by typing: the palette of commands, and help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tui.keys import LISTING_KEYS
from tui.screens.choosing import LOW_ROWS, is_too_small
from tui.screens.modal import FilteredModal
from tui.widgets.entry_rows import Entry, EntryRows
from tui.widgets.row_list import RowList

NOTHING = "Nothing is named like this."


class ListingScreen(FilteredModal[str | None]):
    """Gives the key of what was chosen, None for nothing."""

    BINDINGS = LISTING_KEYS
    DEFAULT_CSS = """
    ListingScreen { align: center middle; background: $background 60%; }
    ListingScreen #box {
        width: 92%; max-width: 104; height: 84%; min-height: 6; background: $surface; padding: 0 1;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%;
    }
    ListingScreen Input, ListingScreen Input:focus { height: 1; border: none; padding: 0; background: $surface; margin: 0 1; }
    ListingScreen #told { height: 2; color: $foreground 68%; margin: 0 1; }
    ListingScreen EntryRows { background: $surface; margin: 1 0; }
    ListingScreen.-low #told { display: none; }
    ListingScreen.-low EntryRows { margin: 0; }
    ListingScreen.-too-small #box { height: 100%; width: 100%; border: none; }
    """

    def __init__(self, title: str, hint: str, does: str, *, is_ranked: bool) -> None:
        super().__init__()
        self._title, self._does = title, does
        self._rows = EntryRows(is_ranked=is_ranked)
        self._field = Input(placeholder=hint, compact=True)
        self._field.cursor_blink = False
        self.on_marked: Callable[[str], None] = lambda _: None
        self._first = ""
        self._told = Static(Content(""), id="told")  # what the marked row can't show in one line

    def put(self, entries: Sequence[Entry], marked: str = "") -> None:
        """What there is to find, from now on, and where to begin."""
        self._rows.put(entries)
        self._first = marked
        self._tell()

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = Content(self._does)
            yield self._field
            yield self._rows
            yield self._told

    def on_mount(self) -> None:
        self._field.focus()
        if self._first:
            self.call_after_refresh(self._begin, self._first)

    def _begin(self, key: str) -> None:
        self._rows.mark(key if key in self._rows.keys else next(iter(self._rows.keys), ""))
        self._tell()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(is_too_small(event.size), "-too-small")
        self.set_class(event.size.height < LOW_ROWS, "-low")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._rows.filter(event.value)
        self._tell()

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        self.dismiss(event.key)

    def on_input_submitted(self) -> None:
        self.action_decide()

    def action_move(self, step: int) -> None:
        self._rows.move(step)
        self._tell()

    def action_page(self, pages: int) -> None:
        self._rows.move_page(pages)
        self._tell()

    def _tell(self) -> None:
        entry = self._rows.entry
        if entry is not None and self.is_attached:
            self.on_marked(entry.key)
        self._told.update(Content(NOTHING if entry is None else f"{entry.name}: {entry.about} {entry.more}"))

    def action_decide(self) -> None:
        if self._rows.marked:
            self.dismiss(self._rows.marked)

    def action_leave(self) -> None:
        self.dismiss()
