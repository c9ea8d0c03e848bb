"""What opens over the main screen and gives an answer."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

from tui.screens.sized import SizedScreen

T = TypeVar("T")


class Modal(ModalScreen[T], SizedScreen[T]):  # in this order: Textual takes styles from the first alone
    """A screen over another one that closes itself, and nothing but itself."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Close with an answer. A second key of the same burst must not close the screen below: Textual pops the topmost."""
        return super().dismiss(result) if self.is_active else AwaitComplete.nothing()
