"""Providers and models as rows of a list: their names at the left, at the right what speaks for or against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from textual.content import Content

from agent.config.settings import PriceSettings
from agent.context.words import tokens
from agent.literal import visible
from agent.model_catalogue import ModelLine, ServerLine, Standing
from agent.workspace_files import ranked
from tui.transcript.wrap import cell_len, crop
from tui.widgets.row_list import Row, RowList

QUIET = "$foreground 68%"
WIDE_CELLS = 56  # with fewer, only the window is told of a model
ALIASES = "Your names"
HEADINGS = {
    Standing.READY: "Ready",
    Standing.NEEDS_KEY: "Need a key",
    Standing.IS_AWAY: "Not running",
    Standing.IS_FLAWED: "To be set up",
}


class Entry(Struct, frozen=True):
    """What a row stands for: a provider, or a model."""

    line: ServerLine | ModelLine
    heading: str = ""
    is_short: bool = False  # whose model it is stands above the list

    @property
    def key(self) -> str:
        return f"{'server' if isinstance(self.line, ServerLine) else 'model'} {self.line.name}"

    @property
    def text(self) -> str:
        """What a filter looks in."""
        line = self.line
        if isinstance(line, ServerLine):
            return f"{line.name} {line.label}"
        return line.model if self.is_short else line.name


class ModelRows(RowList, can_focus=False):
    """The mark is always seen, as the field above has the focus. `used` are the tokens of the conversation."""

    DEFAULT_CSS = "ModelRows { background: $surface; scrollbar-background: $surface; }"

    def __init__(self, used: int) -> None:
        super().__init__()
        self._used = used
        self._entries: Mapping[str, Entry] = {}

    @property
    def shows_mark(self) -> bool:
        return True

    def entry(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def put(self, entries: Sequence[Entry], written: str) -> None:
        """Show those that are meant by what is written; all of them, under headings, where nothing is."""
        self._entries = {entry.key: entry for entry in entries}
        if not written.strip():
            self.put_rows(_under_headings(entries))
            return
        by_text = {entry.text: entry.key for entry in reversed(entries)}
        found = [by_text[text] for text in ranked("".join(written.split()), list(by_text))]
        self.put_rows([Row(key, 1) for key in found])
        self.mark(found[0] if found else "")

    def draw(self, row: Row, width: int) -> Content:
        if row.heading:
            return Content.assemble((crop(f" {row.heading}", width), f"bold {QUIET}"))
        entry = self._entries[row.key]
        match entry.line:
            case ServerLine() as server:
                return _row(server.name, _beside(server), _state(server), width)
            case ModelLine() as model:
                beside = "" if model.name.endswith(model.model) else f"→ {model.model}"
                return _row(entry.text, beside, self._figures(model, width), width)

    def _figures(self, model: ModelLine, width: int) -> str:
        window = tokens(model.window) if model.window else "–"
        fits = "" if model.window is None else "fits" if self._used <= model.window else "too small"
        if width < WIDE_CELLS:
            return "too small" if fits == "too small" else window
        return f"{price_told(model.price):>12}  {window:>6}  {fits:<9}"


def price_told(price: PriceSettings | None) -> str:
    """Dollars per million tokens read and written."""
    if price is None or price.input is None or price.output is None:
        return "–"
    return "free" if price.input == price.output == 0 else f"${price.input:g}/${price.output:g}"


def _under_headings(entries: Sequence[Entry]) -> list[Row]:
    rows: list[Row] = []
    before = ""
    for entry in entries:
        if entry.heading and entry.heading != before:
            rows.append(Row("", 1, entry.heading))
            before = entry.heading
        rows.append(Row(entry.key, 1))
    return rows


def _beside(server: ServerLine) -> str:
    return "" if server.label == server.name else server.label


def _state(server: ServerLine) -> str:
    count = len(server.models)
    match server.standing:
        case Standing.READY if count:
            return f"{count} model{'' if count == 1 else 's'} known"
        case Standing.NEEDS_KEY:
            return server.key
        case _:
            return ""


def _row(name: str, beside: str, tail: str, width: int) -> Content:
    room = max(1, width - cell_len(tail) - 5)
    named = crop(visible(name), room)
    left = room - cell_len(named) - 2
    quiet = f"  {crop(visible(beside), left)}" if beside and left > 3 else ""
    gap = " " * max(1, width - 3 - cell_len(named) - cell_len(quiet) - cell_len(tail))
    return Content.assemble(f"  {named}", (quiet, QUIET), gap, (tail, QUIET), " ")
