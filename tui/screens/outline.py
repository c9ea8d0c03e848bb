"""The prompts of a conversation as a list: go to one of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from agent.literal import visible
from tui.hints import with_keys
from tui.keys import OUTLINE_KEYS
from tui.screens.filtered_modal import FilteredModal
from tui.transcript.blocks import Block, Prompt
from tui.transcript.document import Origin
from tui.transcript.wrap import cell_len, crop
from tui.widgets.row_list import Row, RowList

LEAST_TIME_CELLS = 50  # in fewer cells the words need all the room
LOOK_CHARS = 400  # of a prompt, for its one line


class Line(Struct, frozen=True):
    """A prompt in the list."""

    number: int
    block: int
    text: str
    at_s: float | None  # when it was said, where that is known


def prompt_lines(blocks: Sequence[Block], origins: Sequence[Origin]) -> list[Line]:
    prompts = [(index, block) for index, block in enumerate(blocks) if isinstance(block, Prompt)]
    return [
        Line(number, index, block.text, origins[index].at_s if index < len(origins) else None)
        for number, (index, block) in enumerate(prompts, 1)
    ]


class PromptRows(RowList, can_focus=False):
    """One line a prompt: its number, its first words, when it was said."""

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self._lines = {str(line.block): line for line in lines}
        self._digits = len(str(len(lines)))

    @property
    def shows_mark(self) -> bool:
        return True  # the field above it has the focus

    def filter(self, words: str) -> None:
        """Show the prompts in which all the words stand."""
        wanted = words.lower().split()
        kept = [key for key, line in self._lines.items() if all(word in line.text.lower() for word in wanted)]
        self.put_rows([Row(key, 1) for key in kept])

    def draw(self, row: Row, width: int) -> Content:
        line = self._lines[row.key]
        head = f" {line.number:>{self._digits}}  "
        tail = f"  {_moment(line.at_s)} " if line.at_s and width >= LEAST_TIME_CELLS else " "
        room = max(1, width - len(head) - len(tail))
        text = crop(" ".join(visible(line.text[:LOOK_CHARS]).split()), room)
        return Content(head + text + " " * (room - cell_len(text)) + tail)


class OutlineScreen(FilteredModal[int]):
    """Lists the prompts of a transcript; gives the block of the one that was chosen."""

    TITLED: ClassVar[str] = "Prompts"
    DOES: ClassVar[str] = "{outline.decide} goes there · {outline.leave} closes"
    BINDINGS = OUTLINE_KEYS

    def __init__(self, lines: Sequence[Line], current: int | None) -> None:
        """`current` is the block of the prompt that one is in."""
        self._rows = PromptRows(lines)
        super().__init__(self._rows)
        self._count = len(lines)
        self._current = current

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self.TITLED)
            box.border_subtitle = Content(with_keys(self, self.DOES))
            yield self._field
            yield self._told
            yield self._rows

    def on_mount(self) -> None:
        self._field.focus()
        self._filter("")
        self.call_after_refresh(self._rows.mark, str(self._current))

    def on_input_changed(self, event: Input.Changed) -> None:
        self._filter(event.value)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        self.dismiss(int(event.key))

    def _filter(self, words: str) -> None:
        self._rows.filter(words)
        shown = len(self._rows.keys)
        counted = f"{self._count:,} prompts" if shown == self._count else f"{shown:,} of {self._count:,} prompts"
        self._told.update(Content(counted if shown else "No prompt has these words."))

    def action_decide(self) -> None:
        if self._rows.marked:
            self.dismiss(int(self._rows.marked))


def _moment(at_s: float) -> str:
    said = time.localtime(at_s)
    return time.strftime("%H:%M" if said[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M", said)
