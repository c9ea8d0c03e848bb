"""An answer of figures: sentences and tables, drawn by a screen and written as plain text where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct


class Tone(StrEnum):
    """How much a sentence matters."""

    TITLE = "title"
    PLAIN = "plain"
    QUIET = "quiet"
    WARNING = "warning"


class Sentence(Struct, frozen=True):
    text: str
    tone: Tone = Tone.PLAIN


BLANK = Sentence("")


class Figures(Struct, frozen=True):
    """A table: the first column names, the others are amounts. `heads` has as many entries as a row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Excerpts(Struct, frozen=True):
    """Messages, each on one line that is cut where it does not fit: who, and how it begins."""

    lines: tuple[tuple[str, str], ...]


Part = Sentence | Figures | Excerpts


class Report(Struct, frozen=True):
    title: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The report where there is no screen."""
        return "\n".join([self.title, *(line for part in self.parts for line in _lines(part))])


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Sentence(text=text, tone=tone):
            yield from ("", text) if tone is Tone.TITLE else (text,)
        case Figures(heads=heads, rows=rows):
            yield from _columns([heads, *rows])
        case Excerpts(lines=lines):
            yield from (f"  {who}: {said}" for who, said in lines)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *amounts in rows:
        cells = [amount.rjust(width) for amount, width in zip(amounts, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *cells]).rstrip()
