"""Going to a part of the screen by a letter that stands on it."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Region, Size
from textual.widgets import Static

from tui.screens.modal import Modal


class JumpScreen(Modal[int | None]):
    """Puts a letter on each place; gives the number of the place whose letter is pressed, None at any other key."""

    DEFAULT_CSS = """
    JumpScreen { background: $background 60%; }
    JumpScreen Static {
        position: absolute; width: 3; height: 1;
        background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold;
    }
    """

    def __init__(self, places: Sequence[Region]) -> None:
        super().__init__()
        self._size_shown: Size | None = None
        self._places = places[: len(ascii_lowercase)]

    def compose(self) -> ComposeResult:
        for letter, place in zip(ascii_lowercase, self._places, strict=False):
            label = Static(Content(f" {letter} "))
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        letters = ascii_lowercase[: len(self._places)]
        self.dismiss(letters.index(event.key) if event.key in letters and len(event.key) == 1 else None)

    def on_click(self) -> None:
        self.dismiss(None)

    def on_resize(self, event: events.Resize) -> None:
        """The places are elsewhere then."""
        if self._size_shown not in (None, event.size):
            self.dismiss(None)
        self._size_shown = event.size
