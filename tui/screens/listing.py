"""A list to find something in by typing: the palette of commands, and help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from tui.hints import with_keys
from tui.keys import LISTING_KEYS
from tui.screens.choosing import LOW_ROWS
from tui.screens.filtered_modal import FilteredModal
from tui.widgets.entry_rows import Entry, EntryRows
from tui.widgets.row_list import RowList

NOTHING = "Nothing is named like this."


class ListingScreen(FilteredModal[str]):
    """Gives the key of what was chosen, None for nothing."""

    BINDINGS = LISTING_KEYS
    DEFAULT_CSS = """
    ListingScreen #told { height: 2; }
    ListingScreen EntryRows { margin: 1 0; }
    ListingScreen.-low #told { display: none; }
    ListingScreen.-low EntryRows { margin: 0; }
    """

    def __init__(self, title: str, hint: str, does: str, *, is_ranked: bool) -> None:
        """`does` names its keys by their bindings."""
        self._rows = EntryRows(is_ranked=is_ranked)
        super().__init__(self._rows, hint)
        self._title, self._does = title, does
        self.on_marked: Callable[[str], None] = lambda _: None
        self._first = ""

    def put(self, entries: Sequence[Entry], marked: str = "") -> None:
        """What there is to find, from now on, and where to begin."""
        self._rows.put(entries)
        self._first = marked
        self._tell()

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = Content(with_keys(self, self._does))
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
        self.set_class(event.size.height < LOW_ROWS, "-low")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._rows.filter(event.value)
        self._tell()

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        self.dismiss(event.key)

    def action_move(self, step: int) -> None:
        super().action_move(step)
        self._tell()

    def action_page(self, pages: int) -> None:
        super().action_page(pages)
        self._tell()

    def _tell(self) -> None:
        """What the marked row can't show in one line."""
        entry = self._rows.entry
        if entry is not None and self.is_attached:
            self.on_marked(entry.key)
        self._told.update(Content(NOTHING if entry is None else f"{entry.name}: {entry.about} {entry.more}"))

    def action_decide(self) -> None:
        if self._rows.marked:
            self.dismiss(self._rows.marked)
