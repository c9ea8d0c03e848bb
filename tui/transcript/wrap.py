"""Setting text in cells: styled runs in, lines of segments out. Widths are terminal cells, never characters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

Run = tuple[str, Style]
"""Text in one style; may hold newlines, never other control characters."""
Line = list[Segment]

TAB_CELLS = 4

# CJK text may break between any two characters, but closing punctuation stays with the one before it.
_IDEOGRAPH = r"\u2e80-\u2fff\u3041-\ua4cf\uf900-\ufaff\uff10-\uff5a\U00020000-\U0003fffd"
_CLOSING = r"\u3001\u3002\u3009\u300b\u300d\u300f\u3011\u30fb\u30fc\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff5d"
_ASCII_WORD = re.compile(r"\n|[^\S\n]+|\S+")


@cache
def _any_word() -> re.Pattern[str]:
    """Compiled when first needed: so many ranges take 2 ms, which a first frame in ASCII need not pay."""
    return re.compile(rf"\n|[^\S\n]+|[{_IDEOGRAPH}][{_CLOSING}]*|[^\s{_IDEOGRAPH}]+")


@cache
def _ideograph() -> re.Pattern[str]:
    return re.compile(rf"[{_IDEOGRAPH}]")


def _words(text: str) -> list[str]:
    return (_ASCII_WORD if text.isascii() else _any_word()).findall(text)


def _breaks_anywhere(word: str) -> bool:
    return not word.isascii() and _ideograph().match(word) is not None


def wrap(runs: Sequence[Run], width: int) -> list[Line]:
    """Break at spaces, and inside a word only when it is wider than a line. At least one line, however narrow."""
    width = max(1, width)
    setter = _Setter(width)
    for text, style in runs:
        setter.add(text, style)
    return setter.done()


def wrap_hard(runs: Sequence[Run], width: int) -> list[Line]:
    """Break where the line is full and keep every space: for code and output."""
    width = max(1, width)
    lines: list[Line] = [[]]
    room = width
    for text, style in runs:
        for number, part in enumerate(expand_tabs(text).split("\n")):
            if number:
                lines.append([])
                room = width
            for piece, cells in chop(part, room, width):
                if cells > room:
                    lines.append([])
                    room = width
                lines[-1].append(Segment(piece, style))
                room -= cells
    return lines


def expand_tabs(text: str) -> str:
    """Tabs as spaces up to the next stop, counted in characters from the line's start."""
    return text.expandtabs(TAB_CELLS) if "\t" in text else text


def chop(text: str, first: int, width: int) -> Iterator[tuple[str, int]]:
    """Cut one line's text into pieces of at most `first`, then `width` cells, never inside a visible character."""
    if text.isascii():
        start, end = 0, first
        while start < len(text):
            if piece := text[start:end]:
                yield piece, len(piece)
            start, end = end, end + width
        return
    room = first
    begin = cells = 0
    for start, _end, size in split_graphemes(text)[0]:
        if cells + size > room and start > begin:
            yield text[begin:start], cells
            begin, cells, room = start, 0, width
        elif cells + size > room:
            room = width
        cells += size
    if begin < len(text):
        yield text[begin:], cells


def crop(text: str, width: int) -> str:
    """The text in at most `width` cells, with an ellipsis where something is left out."""
    text = expand_tabs(text[: 8 * width + 8])  # no visible character in use has more than 8 code points a cell
    if cell_len(text) <= width:
        return text
    kept = next(chop(text, max(1, width - 1), width), ("", 0))[0]
    return kept + "…"


def cells_of(line: Iterable[Segment]) -> int:
    return sum(cell_len(segment.text) for segment in line)


class _Setter:
    """Fills lines word by word. A word may be made of runs in several styles, so it is held back until it ends."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[Line] = []
        self._line: Line = []
        self._used = 0
        self._is_fresh = True  # at the start of a source line, where spaces are an indent to keep
        self._space: Segment | None = None
        self._word: Line = []
        self._word_cells = 0

    def add(self, text: str, style: Style) -> None:
        for word in _words(expand_tabs(text)):
            if word == "\n":
                self._break()
            elif word.isspace() and word != "\xa0":
                self._end_word()
                self._space = Segment(" " * cell_len(word), style) if self._used or self._is_fresh else None
            else:
                self._grow(word, style)

    def done(self) -> list[Line]:
        self._break()
        return self._lines

    def _grow(self, word: str, style: Style) -> None:
        if self._word and (_breaks_anywhere(word) or _breaks_anywhere(self._word[-1].text)):
            self._end_word()
        self._word.append(Segment(word, style))
        self._word_cells += cell_len(word)

    def _end_word(self) -> None:
        if not self._word:
            return
        gap = len(self._space.text) if self._space else 0
        if self._used and self._used + gap + self._word_cells > self._width:
            self._new_line()
        if self._space and gap < self._width:
            self._put(self._space, gap)
        self._space = None
        for segment in self._word:
            self._place(segment)
        self._word = []
        self._word_cells = 0
        self._is_fresh = False

    def _place(self, segment: Segment) -> None:
        cells = cell_len(segment.text)
        if self._used + cells <= self._width:
            self._put(segment, cells)
            return
        for piece, size in chop(segment.text, self._width - self._used, self._width):
            if self._used and self._used + size > self._width:
                self._new_line()
            self._put(Segment(piece, segment.style), size)

    def _put(self, segment: Segment, cells: int) -> None:
        last = self._line[-1] if self._line else None
        if last is not None and last.style is segment.style:
            self._line[-1] = Segment(last.text + segment.text, segment.style)
        else:
            self._line.append(segment)
        self._used += cells

    def _new_line(self) -> None:
        self._lines.append(self._line)
        self._line = []
        self._used = 0
        self._space = None

    def _break(self) -> None:
        self._end_word()
        self._new_line()
        self._is_fresh = True
