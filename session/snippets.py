"""Where the pieces of a query stand in a text, and the part of the text to show for it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from unicodedata import category, normalize

from session.projection import WORD_CHAR, compiled
from session.titles import extends

SNIPPET_CHARS = 120
BEFORE_CHARS = 40  # how much of it stands before the first match
LONGEST_CHARS = 4_096  # more than any match, with the space in it
ELLIPSIS = "…"

Span = tuple[int, int]

WITHIN_WORD = rf"(?<={WORD_CHAR}){WORD_CHAR}"
SPACE = re.compile(r"\s+")
# As long as a snippet, so that a megabyte without a space is not walked through.
RUN = re.compile(rf"\S{{1,{SNIPPET_CHARS}}}")
APOSTROPHES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}  # as models and word processors write them


class Folding(dict[int, str]):
    """One character for each, so that offsets stay: small letters, and Latin ones without their accents.

    As unicode61 does with `remove_diacritics 2`.
    """

    def __missing__(self, code: int) -> str:
        self[code] = fold(chr(code))
        return self[code]


def fold(char: str) -> str:
    base, *marks = normalize("NFD", char)
    if base.isascii() and base.isalpha() and all(category(mark) == "Mn" for mark in marks):
        return base.lower()
    return next((form for form in (char.casefold(), char.lower()) if len(form) == 1), char)


FOLDING = Folding(APOSTROPHES)


def folded(text: str) -> str:
    """A composed text (NFC) as it is compared, with the same length."""
    return text.lower() if text.isascii() else text.translate(FOLDING)


class Wanted:
    """A text to be found, folded as what it is looked for in. White space in it stands for any, however much."""

    def __init__(self, text: str, is_prefix: bool = False) -> None:
        self._pattern = re.compile(r"\s+".join(map(re.escape, text.split())))
        self._is_prefix = is_prefix

    def spans(self, text: str, start: int = 0, before: int | None = None) -> Iterator[Span]:
        """Where it stands, without being a part of a longer word, from `start` on; the last one begins before `before`."""
        end = len(text) if before is None else before + LONGEST_CHARS
        within = compiled(WITHIN_WORD).match
        for found in self._pattern.finditer(text, start, end):
            if before is not None and found.start() >= before:
                return
            begins_within = within(text, found.start()) is not None
            ends_within = not self._is_prefix and within(text, found.end()) is not None
            if not begins_within and not ends_within:
                yield found.span()

    def is_in(self, text: str) -> bool:
        return next(self.spans(text), None) is not None

    def first(self, text: str) -> int | None:
        span = next(self.spans(text), None)
        return span[0] if span else None


class Snippet:
    """About `SNIPPET_CHARS` of a text on one line, from a little before `at`. White space is one space in it.

    `text` is data: no character in it marks anything, but for the dots where something was left out.
    """

    def __init__(self, source: str, at: int) -> None:
        self.begin = beginning(source, at)
        self.text = ELLIPSIS if self.begin else ""
        self._sources: list[int] = []  # where each run begins in the source …
        self._places: list[int] = []  # … and in `text`
        self.end = self.begin
        for run in RUN.finditer(source, self.begin):
            if not self._take(source, run):
                break
        if SPACE.sub("", source[self.end : self.end + SNIPPET_CHARS]):
            self.text += ELLIPSIS

    def _take(self, source: str, run: re.Match[str]) -> bool:
        """Add as much of a run as there is room for; False when nothing more is to come."""
        gap = " " if self._sources else ""
        room = SNIPPET_CHARS - len(self.text) - len(gap)
        if room <= 0:
            return False
        self._sources.append(run.start())
        self._places.append(len(self.text) + len(gap))
        self.end = min(run.end(), run.start() + room)
        self.text += gap + source[run.start() : self.end]
        return self.end == run.end()

    def shown(self, span: Span) -> Span:
        """A span of the source as one of `text`. It must begin in the part that is shown."""
        start, end = span
        return self._place(start), self._place(min(end, self.end) - 1) + 1

    def _place(self, offset: int) -> int:
        run = bisect_right(self._sources, offset) - 1
        return self._places[run] + offset - self._sources[run]


def beginning(source: str, at: int) -> int:
    """Where a snippet begins: behind a space if there is one, else at least not within a character and its marks."""
    begin = at - BEFORE_CHARS
    if begin <= 0:
        return 0
    space = SPACE.search(source, begin, at)
    if space:
        return space.end()
    while begin < at and extends(source[begin]):
        begin += 1
    return begin


def snippet(source: str, comparable: str, wanted: list[Wanted]) -> tuple[str, tuple[Span, ...]]:
    """The part of a composed text around the first match, and where in it matches are. `comparable` is it, folded."""
    firsts = [first for one in wanted if (first := one.first(comparable)) is not None]
    shown = Snippet(source, min(firsts, default=0))
    found = [span for one in wanted for span in one.spans(comparable, shown.begin, shown.end)]
    return shown.text, tuple(joined(sorted(map(shown.shown, found))))


def joined(spans: list[Span]) -> Iterator[Span]:
    """Sorted spans, those that overlap made one."""
    waiting: Span | None = None
    for start, end in spans:
        if waiting and start < waiting[1]:
            waiting = waiting[0], max(waiting[1], end)
            continue
        if waiting:
            yield waiting
        waiting = start, end
    if waiting:
        yield waiting
