"""A report as it is drawn: sentences wrapped, tables in columns where they fit, all of it literal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.style import Style
from textual.content import Content
from textual.widget import Widget

from agent.commands.report import Excerpts, Figures, Part, Sentence, Tone
from agent.literal import visible
from tui.transcript.wrap import crop, wrap
from tui.widgets.state_words import one_line

STYLES = {
    Tone.TITLE: "bold $text-primary",
    Tone.PLAIN: "$foreground",
    Tone.QUIET: "$foreground 68%",
    Tone.WARNING: "$text-warning",
}
QUIET = STYLES[Tone.QUIET]
GAP = 2
LEAST_NAME_CELLS = 12  # beside its amounts; with fewer they stand beneath it
WHO_CELLS = 10


class ReportView(Widget):
    """As high as its lines are at its width."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "ReportView { height: auto; }"

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__()
        self._parts = parts

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def _lines(self, width: int) -> list[Content]:
        lines = [line for part in self._parts for line in part_lines(part, max(1, width))]
        return lines if lines and lines[0].plain else lines[1:]  # a title at the top needs nothing above it


def part_lines(part: Part, width: int) -> Iterator[Content]:
    match part:
        case Sentence(text=text, tone=tone):
            if tone is Tone.TITLE:
                yield Content("")
            yield from (Content.styled(line, STYLES[tone]) for line in wrapped(visible(text), width))
        case Figures(heads=heads, rows=rows):
            literal = [
                [one_line(cell) if cell.strip() == cell else f"  {one_line(cell)}" for cell in row] for row in rows
            ]
            yield from _table(heads, literal, width)
        case Excerpts(lines=lines):
            yield from (_excerpt(who, said, width) for who, said in lines)


def wrapped(text: str, width: int) -> list[str]:
    return ["".join(segment.text for segment in line) for line in wrap([(text, Style.null())], width)]


def _excerpt(who: str, said: str, width: int) -> Content:
    name = crop(one_line(who), WHO_CELLS - 1)
    gap = " " * (WHO_CELLS - cell_len(name))
    return Content.assemble((name + gap, QUIET), crop(one_line(said), max(1, width - WHO_CELLS)))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Content]:
    """Names at the left, amounts in columns; a name that is too long takes more lines."""
    amounts = [max(cell_len(row[column]) for row in (heads, *rows)) for column in range(1, len(heads))]
    names = max(cell_len(row[0]) for row in (heads, *rows))
    room = min(names, width - sum(amounts) - GAP * len(amounts))
    if room < min(names, LEAST_NAME_CELLS):
        yield from (line for row in rows for line in _record(heads, row, width))
        return
    if any(heads):
        yield Content.styled(_aligned(heads, room, amounts), QUIET)
    for row in rows:
        *above, last = wrapped(row[0], room)
        yield from map(Content, above)
        yield Content(_aligned([last, *row[1:]], room, amounts))


def _aligned(cells: Sequence[str], room: int, amounts: Sequence[int]) -> str:
    columns = [" " * (GAP + width - cell_len(cell)) + cell for cell, width in zip(cells[1:], amounts, strict=True)]
    return cells[0] + " " * (room - cell_len(cells[0])) + "".join(columns)


def _record(heads: Sequence[str], row: Sequence[str], width: int) -> Iterator[Content]:
    """One row where there is no room for columns: its name, and beneath it what it has."""
    yield from (Content(line) for line in wrapped(row[0], width))
    pairs = [f"{head} {amount}".strip() for head, amount in zip(heads[1:], row[1:], strict=True) if amount]
    told = ", ".join(pair.replace(" ", "\xa0") for pair in pairs)
    yield from (Content.styled(f"  {line}", QUIET) for line in wrapped(told, max(1, width - 2)))
