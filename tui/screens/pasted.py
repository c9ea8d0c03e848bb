"""A long pasted text, to be read and changed before it is sent."""

from __future__ import annotations

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tui.hints import with_keys
from tui.keys import PASTED_KEYS
from tui.screens.modal import Modal
from tui.widgets.grapheme_area import GraphemeArea


class Read(Struct, frozen=True):
    """What came of it. `is_unfolded`: the text belongs into the draft as it is."""

    text: str
    is_unfolded: bool = False


class PastedScreen(Modal[Read]):
    """Gives the text as it was left."""

    BINDINGS = PASTED_KEYS
    DEFAULT_CSS = """
    PastedScreen { align: center middle; background: $background 60%; }
    PastedScreen #box {
        width: 94%; max-width: 110; height: 90%; background: $background;
        border: round $border; border-title-color: $text-accent; border-title-style: bold;
        border-subtitle-color: $foreground 68%; padding: 0 1;
    }
    PastedScreen GraphemeArea, PastedScreen GraphemeArea:focus {
        height: 1fr; border: none; padding: 0; background: $background; scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, label: str, text: str) -> None:
        super().__init__()
        self._label = label
        self._area = GraphemeArea(compact=True, highlight_cursor_line=False)
        self._area.load_text(text)
        self._area.cursor_blink = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._label.strip("[]"))
            does = "{pasted.close} closes and keeps changes · {pasted.unfold} unfolds it in the draft"
            box.border_subtitle = Content(with_keys(self, does))
            yield self._area

    def on_mount(self) -> None:
        self._area.focus()

    def action_close(self) -> None:
        self.dismiss(Read(self._area.text))

    def action_unfold(self) -> None:
        self.dismiss(Read(self._area.text, is_unfolded=True))
