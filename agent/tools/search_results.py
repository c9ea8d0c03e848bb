"""What a search found, as it comes in and as a model reads it: sorted, in pages, each line no longer than it helps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from agent.tools.shown_path import shown_path

MOST_FOUND = 20_000
"""Lines or files; more are not looked for."""
LINE_CHARS = 300
TOTAL_CHARS = 50_000
_BEFORE_MATCH_BYTES = 80
_MOST_LINE_BYTES = 1024 * 1024
_LINE = re.compile(rb"(\d+)(?::(\d+):|-)")


class Line(Struct, frozen=True):
    """`text` is what is shown of it."""

    path: str
    number: int
    text: str
    is_match: bool = True


class Count(Struct, frozen=True):
    path: str
    lines: int


Found = Line | Count | str  # a path where names are looked for


class Records:
    """Takes the output of a search in pieces and keeps what it says. Memory is bounded, however long a line is."""

    def __init__(self, kind: str, is_wanted: Callable[[str], bool], only_file: str = "") -> None:
        """`only_file` is the name of the one file that is searched, whatever the search calls it."""
        self._only_file = only_file
        self._end = b"\0" if kind == "names" else b"\n"
        self._kind = kind
        self._is_wanted = is_wanted
        self._rest: list[bytes] = []  # of a record whose end has not come, as far as it is kept
        self._rest_bytes = 0
        self._last = (b"", "", False)  # a path as it was written, as it is shown, and whether it is wanted
        self.found: list[Found] = []
        self.said = ""  # what is no record: an error

    @property
    def is_full(self) -> bool:
        return len(self.found) > MOST_FOUND

    def take(self, chunk: bytes) -> bool:
        """Whether more is wanted."""
        first, *others = chunk.split(self._end)
        self._keep(first)
        for piece in others:
            self.finish()
            self._keep(piece)
        return not self.is_full

    def finish(self) -> None:
        """The record is whole."""
        record = b"".join(self._rest)
        self._rest.clear()
        self._rest_bytes = 0
        if record:
            self._add(record)

    def _keep(self, piece: bytes) -> None:
        if self._rest_bytes < _MOST_LINE_BYTES and piece:
            self._rest.append(piece)
            self._rest_bytes += len(piece)

    def _add(self, record: bytes) -> None:
        name, parted, rest = record.partition(b"\0")
        if not parted and self._kind != "names":
            self.said = f"{self.said}{record.decode('utf-8', 'replace')}\n"[:10_000]
            return
        path, is_wanted = self._path_of(name)
        if self._kind == "names":
            self.found += [path] if is_wanted else []
        elif is_wanted and (found := self._read(path, rest)):
            self.found.append(found)

    def _path_of(self, name: bytes) -> tuple[str, bool]:
        """All that was found in a file comes in one piece, so the answer to the last question is the next one's, too."""
        if name != self._last[0]:
            path = self._only_file or os.fsdecode(name.removeprefix(b"./"))
            self._last = (name, path, self._is_wanted(path))
        return self._last[1:]

    def _read(self, path: str, rest: bytes) -> Found | None:
        if self._kind == "counts":
            return Count(path, int(rest)) if rest.strip().isdigit() else None
        head = _LINE.match(rest)
        if head is None:
            return None
        text = rest[head.end() :].removesuffix(b"\r")
        column = int(head[2]) - 1 if head[2] else 0
        return Line(path, int(head[1]), _excerpt(text, column), is_match=head[2] is not None)


def _excerpt(line: bytes, column: int) -> str:
    """The part of a line around its match, which may lie farther in than was kept of it."""
    if column > len(line):
        return f"⟨the match is {column:,} bytes into this line⟩"
    begin = 0 if len(line) <= LINE_CHARS else max(0, column - _BEFORE_MATCH_BYTES)
    cut = line[begin : begin + LINE_CHARS]
    text = cut.decode("utf-8", "ignore" if len(cut) < len(line) else "replace")
    return "…" * (begin > 0) + text + "…" * (begin + len(cut) < len(line))


class Page(Struct, frozen=True):
    """`text` is what is told of a part of what was found; `next` is where to go on, 0 at the end."""

    text: str
    shown: int
    total: int
    next: int


def page_of(found: Sequence[Found], skip: int, limit: int, context: int, prefix: str) -> Page:
    """In order of paths and lines. `prefix` leads from the session's folder to where the paths start."""
    ordered = sorted(found, key=_place)
    hits = [number for number, one in enumerate(ordered) if not isinstance(one, Line) or one.is_match]
    wanted = hits[skip : skip + limit]
    text, shown = _told(ordered, wanted, context, prefix)
    following = skip + shown
    return Page(text, shown, len(hits), following if following < len(hits) else 0)


def _place(found: Found) -> str:
    """By folder, then by name. The lines of a file are in their order already."""
    return _path(found).replace("/", "\0")


def _told(ordered: Sequence[Found], wanted: Sequence[int], context: int, prefix: str) -> tuple[str, int]:
    """The text, and how many of what was wanted it holds."""
    pieces: list[str] = []
    room, done, path = TOTAL_CHARS, 0, None
    for count, hit in enumerate(wanted):
        if room < 0:
            return "\n".join(pieces), count
        for number in _around(ordered, hit, context, done):
            one = ordered[number]
            lines = [] if _path(one) == path else [prefix + shown_path(_path(one))]
            path, done = _path(one), number + 1
            pieces += _lines(one, lines)
            room -= sum(map(len, pieces[-2:]))
    return "\n".join(pieces), len(wanted)


def _around(ordered: Sequence[Found], hit: int, context: int, done: int) -> Iterator[int]:
    """A match and the lines around it that are not told yet."""
    at = ordered[hit]
    if not isinstance(at, Line):
        yield hit
        return
    for number in range(max(done, hit - context), hit):
        if _is_near(ordered[number], at, context):
            yield number
    yield hit
    for number in range(hit + 1, min(len(ordered), hit + context + 1)):
        if not _is_near(ordered[number], at, context):
            return
        yield number


def _is_near(one: Found, hit: Line, context: int) -> bool:
    """Whether it is a line around a match, and not one itself."""
    return (
        isinstance(one, Line) and not one.is_match and one.path == hit.path and abs(one.number - hit.number) <= context
    )


def _path(found: Found) -> str:
    return found if isinstance(found, str) else found.path


def _lines(found: Found, head: Sequence[str]) -> list[str]:
    match found:
        case str():
            return list(head)
        case Count(_, lines):
            return [f"{one}: {lines:,}" for one in head]
        case Line(_, number, text, is_match):
            return [*head, f"{number}{':' if is_match else '-'} {text}"]
