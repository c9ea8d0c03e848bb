"""A question that opens by itself, and gives way to whoever was typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual import events

from tui.screens.choosing import ChoosingScreen
from tui.widgets.choices import Choice

T = TypeVar("T")


class GivingWay(ChoosingScreen[T | None]):
    """What is typed or pasted goes on into the draft, in its order, and the question is left for now: no letter is lost
    to it, and none decides. Its answers are digits, which do nothing before it takes them."""

    def __init__(
        self, choices: list[Choice], marked: int, quiet_s: float, draft: Callable[[events.Event], object]
    ) -> None:
        """`draft` gets what was meant for it."""
        super().__init__(choices, marked, quiet_s)
        self._draft = draft
        self._is_left = False

    def on_key(self, event: events.Key) -> None:
        is_typed = event.is_printable and not (event.character or "").isdigit()
        if self._is_left or is_typed:
            event.stop()
            event.prevent_default()
            self._hand_on(events.Key(event.key, event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._hand_on(events.Paste(event.text))

    def _hand_on(self, event: events.Event) -> None:
        self._is_left = True  # an Enter behind it belongs to the draft as well
        self._draft(event)
        self.dismiss(None)
