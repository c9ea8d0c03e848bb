"""Lines of a file for a reader: from the front as a stream, or the last ones without what lies before them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BufferedReader
from typing import TextIO

from msgspec import Struct

from agent.tools.text_file import Encoding

LINE_CHARS = 2_000
_SKIP_CHARS = 65_536
_FIRST_REACH_BYTES = 65_536
MOST_REACH_BYTES = 4 * 1024**2  # how far back the last lines are looked for


class Line(Struct, frozen=True):
    """The shown part of a line, and how many of its characters that leaves out."""

    text: str
    over_chars: int = 0
    is_crlf: bool = False
    is_headless: bool = False  # it begins farther back than was looked

    def __str__(self) -> str:
        head = "⟨the line begins farther back⟩ " if self.is_headless else ""
        return head + self.text + (f" ⟨{self.over_chars:,} more characters on this line⟩" if self.over_chars else "")


def lines_of(file: TextIO, line_end: str) -> Iterator[Line]:
    """The lines from here on. A line without end costs time, not memory."""
    while start := file.readline(LINE_CHARS + 2):
        chars, end = len(start), start[-2:]
        while not end.endswith(line_end) and (piece := file.readline(_SKIP_CHARS)):
            chars, end = chars + len(piece), (end + piece)[-2:]
        is_crlf = end == "\r\n"
        chars -= 2 if is_crlf else end.endswith(line_end)
        text = start[: min(chars, LINE_CHARS)]
        yield Line(text, chars - len(text), is_crlf)


def skip_lines(file: TextIO, lines: int, line_end: str) -> int:
    """Pass over so many lines; returns how many there were."""
    passed = 0
    is_inside = False
    while passed < lines and (piece := file.readline(_SKIP_CHARS)):
        is_inside = not piece.endswith(line_end)
        passed += not is_inside
    return passed + is_inside


class LastLines(Struct, frozen=True):
    """`are_all` says that the file has no others before them."""

    lines: list[Line]
    are_all: bool


def last_lines(file: BufferedReader, encoding: Encoding, line_end: str, count: int) -> LastLines:
    """The last lines of a file, as many as are wanted or lie within reach of its end, whatever its size."""
    start, size = len(encoding.mark), os.fstat(file.fileno()).st_size
    reach = _FIRST_REACH_BYTES
    while True:
        begin = max(start, size - reach)
        begin -= (begin - start) % encoding.unit_bytes
        file.seek(begin)
        lines = file.read(size - begin).decode(encoding.codec, "replace").split(line_end)
        unended = lines.pop()
        lines += [unended] if unended else []
        is_first_whole = begin == start
        if len(lines) > count or is_first_whole or reach >= MOST_REACH_BYTES:
            break
        reach *= 4
    if not is_first_whole and len(lines) > 1:
        lines, is_first_whole = lines[1:], True
    found = [_line(text, is_ended=True) for text in lines[-count:]]
    if unended:
        found[-1] = _line(unended, is_ended=False)
    if not is_first_whole:
        found = [Line(lines[0][-LINE_CHARS:], is_headless=True)]
    return LastLines(found, are_all=begin == start and len(found) == len(lines))


def _line(text: str, *, is_ended: bool) -> Line:
    is_crlf = is_ended and text.endswith("\r")
    text = text[:-1] if is_crlf else text
    return Line(text[:LINE_CHARS], max(0, len(text) - LINE_CHARS), is_crlf)
