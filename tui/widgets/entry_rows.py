"""Rows of a name and what it is, under headings; what is typed finds the likeliest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from textual.content import Content

from tui.transcript.wrap import cell_len, crop
from tui.widgets.row_list import Row, RowList
from tui.widgets.state_words import one_line

NAME_CELLS = 30
LEAST_ABOUT_CELLS = 20
QUIET, HEAD = "$foreground 68%", "bold $text-primary"


class Entry(Struct, frozen=True):
    """One thing to find: `tail` stands at the right edge, `more` is told of the marked one only."""

    key: str
    section: str
    name: str
    about: str = ""
    tail: str = ""
    more: str = ""


def distance(words: Sequence[str], entry: Entry) -> int | None:
    """How far an entry is from what was typed; None where it is not meant."""
    name, rest = entry.name.lower(), f"{entry.about} {entry.tail}".lower()
    total = 0
    for word in words:
        if name.lstrip("/").startswith(word.lstrip("/")):
            found = 0
        elif re.search(rf"\b{re.escape(word)}", name):
            found = 1
        elif word in name:
            found = 2
        elif word in rest:
            found = 4
        elif _is_scattered(word, name):
            found = 8
        else:
            return None
        total += found
    return total


def _is_scattered(word: str, name: str) -> bool:
    letters = iter(name)
    return all(letter in letters for letter in word)


class EntryRows(RowList, can_focus=False):
    """`is_ranked`: what is typed also orders the rows, which stand under no headings then."""

    def __init__(self, *, is_ranked: bool) -> None:
        super().__init__()
        self._is_ranked = is_ranked
        self._entries: dict[str, Entry] = {}
        self._words: list[str] = []

    @property
    def shows_mark(self) -> bool:
        return True  # the field above it has the focus

    @property
    def entry(self) -> Entry | None:
        """The marked one."""
        return self._entries.get(self.marked)

    def put(self, entries: Sequence[Entry]) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._fill()

    def filter(self, typed: str) -> None:
        """Show what is meant, the likeliest marked."""
        self._words = typed.lower().split()
        self._fill()
        self.mark(next(iter(self.keys), ""))

    def _fill(self) -> None:
        found = [(far, entry) for entry in self._entries.values() if (far := distance(self._words, entry)) is not None]
        if self._words and self._is_ranked:
            found.sort(key=lambda one: one[0])
            self.put_rows([Row(entry.key, 1) for _, entry in found])
            return
        rows: list[Row] = []
        section = ""
        for _, entry in found:
            if entry.section != section:
                rows.append(Row("", 2 if rows else 1, entry.section))
                section = entry.section
            rows.append(Row(entry.key, 1))
        self.put_rows(rows)

    def draw(self, row: Row, width: int) -> Content:
        if row.heading:
            return Content.assemble("\n" * (row.height - 1), (crop(f" {row.heading}", width), HEAD))
        entry = self._entries[row.key]
        quiet = "" if row.key == self.marked else QUIET  # the marked one has a ground of its own
        tail = f"  {crop(one_line(entry.tail), max(1, width // 3))} " if entry.tail else " "
        name_cells = min(NAME_CELLS, max(LEAST_ABOUT_CELLS, width // 3), max(1, width - cell_len(tail) - 1))
        name = crop(one_line(entry.name), name_cells)
        room = width - name_cells - cell_len(tail) - 3
        about = crop(one_line(entry.about), room) if room >= LEAST_ABOUT_CELLS else ""
        gap = width - 1 - cell_len(name) - cell_len(tail)
        if not about:
            return Content.assemble(" ", name, " " * gap, (tail, quiet))
        pad = name_cells - cell_len(name) + 2
        return Content.assemble(
            " ", name, " " * pad, (about, quiet), " " * (gap - pad - cell_len(about)), (tail, quiet)
        )
