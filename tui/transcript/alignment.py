"""Which part of a block's source stands where in its drawn lines.

Drawing adds bars and borders, drops markup and breaks lines, but it keeps the words and their order. So the words of the
lines are looked up in the source one behind the other; what is not found there was added and belongs to nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

AHEAD_CHARS = 400
"""How much of the source may have been left out between two words, such as a definition."""
NEXT_CHARS = 80
"""Where words were left out, the word behind must be as near as this: a word alone may be another one."""

_TOKEN = re.compile(r"\w+|[^\w\s]+")
_WORD = re.compile(r"\w")


class Spot(Struct, frozen=True, order=True):
    """A place between two characters of the drawn lines."""

    line: int
    column: int


class Found(Struct, frozen=True):
    """A piece of a drawn line, and where it begins in the source."""

    line: int
    column: int
    size: int
    at: int


class Alignment:
    """The source of a block beside its lines as they are drawn."""

    def __init__(self, source: str, lines: Sequence[str]) -> None:
        self._source = source
        self._found = _aligned(source, lines)

    def source_between(self, first: Spot, last: Spot) -> str:
        """The source of what stands between two spots; "" where nothing of it does."""
        inside = [piece for piece in self._found if _is_between(piece, first, last)]
        if not inside:
            return ""
        head, tail = inside[0], inside[-1]
        start = head.at + (max(0, first.column - head.column) if head.line == first.line else 0)
        end = tail.at + (min(tail.size, last.column - tail.column) if tail.line == last.line else tail.size)
        return self._source[self._with_markup_before(start) : self._with_markup_behind(end, tail, last)]

    def spans(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Where a part of the source is drawn, as (line, column, column behind it)."""
        first = bisect_left(self._found, start, key=lambda piece: piece.at + piece.size - 1)
        spans: list[tuple[int, int, int]] = []
        for piece in self._found[first:]:
            if piece.at >= end:
                break
            begin = piece.column + max(0, start - piece.at)
            behind = piece.column + min(piece.size, end - piece.at)
            if spans and spans[-1][0] == piece.line:
                spans[-1] = (piece.line, spans[-1][1], behind)
            else:
                spans.append((piece.line, begin, behind))
        return spans

    def _with_markup_before(self, start: int) -> int:
        """The beginning of the source line, where only markup or an indent stands before. A row of a table is taken whole."""
        begin = self._source.rfind("\n", 0, start) + 1
        is_row = self._source.startswith("|", begin)
        return begin if is_row or not _WORD.search(self._source, begin, start) else start

    def _with_markup_behind(self, end: int, tail: Found, last: Spot) -> int:
        close = self._source.find("\n", end)
        close = len(self._source) if close < 0 else close
        begin = self._source.rfind("\n", 0, end) + 1
        if self._source.startswith("|", begin):
            return close
        is_whole = last > Spot(tail.line, tail.column + tail.size - 1) and not _WORD.search(self._source, end, close)
        return close if is_whole else end


def _is_between(piece: Found, first: Spot, last: Spot) -> bool:
    return Spot(piece.line, piece.column + piece.size) > first and Spot(piece.line, piece.column) < last


def _aligned(source: str, lines: Sequence[str]) -> list[Found]:
    tokens = [(number, match) for number, line in enumerate(lines) for match in _TOKEN.finditer(line)]
    found: list[Found] = []
    at = 0
    for index, (line, token) in enumerate(tokens):
        behind = tokens[index + 1][1][0] if index + 1 < len(tokens) else ""
        place = _next(source, at, token[0], behind)
        if place >= 0:
            at = place + len(token[0])
            found.append(Found(line, token.start(), len(token[0]), place))
    return found


def _next(source: str, at: int, token: str, behind: str) -> int:
    """Where a token comes next in the source, -1 for nowhere near."""
    place = source.find(token, at, at + AHEAD_CHARS)
    if place < 0 or not _WORD.search(source, at, place):
        return place
    if not _WORD.match(token):
        return -1  # other signs never pass a word over: they are more likely a border
    while place >= 0:
        end = place + len(token)
        is_word = not _WORD.match(source[place - 1 : place])
        if is_word and (not behind or source.find(behind, end, end + NEXT_CHARS) >= 0):
            return place
        place = source.find(token, end, at + AHEAD_CHARS)
    return -1
