"""A short numbered list of answers to one question."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui.transcript.wrap import crop


class Choice(Struct, frozen=True):
    """One answer. `note` says why it cannot be taken where `is_open` is False."""

    label: str
    note: str = ""
    is_open: bool = True


class Choices(Widget):
    """Draws the answers, lit only while they can be taken. The screen decides what a press means."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Choices { height: auto; }"

    marked: reactive[int] = reactive(0)
    is_lit: reactive[bool] = reactive(False)
    is_flat: reactive[bool] = reactive(False, layout=True)  # all in one row, for low terminals

    @dataclass
    class Pressed(Message):
        """The mouse went down and up on one answer."""

        index: int
        down_s: float  # when the button went down

    def __init__(self, choices: list[Choice], marked: int) -> None:
        super().__init__()
        self.choices = choices
        self.set_reactive(Choices.marked, marked)
        self._down_s = 0.0

    def put(self, index: int, choice: Choice) -> None:
        """Another answer in the place of one."""
        self.choices[index] = choice
        self.refresh()

    def move(self, step: int) -> None:
        """Mark the next answer that can be taken; the ends meet."""
        at = self.marked
        for _ in self.choices:
            at = (at + step) % len(self.choices)
            if self.choices[at].is_open:
                break
        self.marked = at

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down_s = event.time

    def on_click(self, event: events.Click) -> None:
        if not self.is_flat and 0 <= event.y < len(self.choices):
            self.post_message(self.Pressed(event.y, self._down_s))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return 1 if self.is_flat else len(self.choices)

    def render(self) -> Content:
        width = self.content_size.width
        if self.is_flat:
            return Content.assemble((crop(self._flat_row(width), width), "bold" if self.is_lit else "$foreground 68%"))
        return Content("\n").join(self._row(index, choice, width) for index, choice in enumerate(self.choices))

    def _flat_row(self, width: int) -> str:
        """All answers beside each other, or the marked one where there is no room for that."""
        named = [f"{number} {choice.label}" for number, choice in enumerate(self.choices, 1)]
        row = "  ".join(f"[{name}]" if index == self.marked else name for index, name in enumerate(named))
        return row if len(row) <= width else f"‹ {named[self.marked]} ›"

    def _row(self, index: int, choice: Choice, width: int) -> Content:
        is_marked = index == self.marked
        label = f"{'▸' if is_marked else ' '} {index + 1}  {choice.label}"
        if not choice.is_open:
            return Content.assemble((crop(f"{label} · {choice.note}", width), "$foreground 55%"))
        if not self.is_lit:
            return Content.assemble((crop(label, width), "$foreground 68%"))
        row = crop(f"{label} ", width).ljust(min(width, 34))
        return Content.assemble(
            (row, "bold $block-cursor-foreground on $block-cursor-background" if is_marked else "$foreground")
        )
