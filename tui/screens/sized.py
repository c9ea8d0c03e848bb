"""A screen that ends with the size that the terminal has, however late it comes to hear of it."""

from __future__ import annotations

from typing import TypeVar

from textual.events import Resize
from textual.message import Message
from textual.screen import Screen

from tui.app_of import app_of

T = TypeVar("T")


class SizedScreen(Screen[T]):
    """Hears of no size but the terminal's.

    Once it is laid out Textual tells a screen its size a second time. On a busy machine this echo comes behind the next
    size, takes the place of it in the queue, and the screen would stay as it was before.
    """

    def post_message(self, message: Message) -> bool:
        if isinstance(message, Resize) and message.size != (size := app_of(self).size):
            message = Resize(size, size)
        return super().post_message(message)
