"""`read_file`: lines of a text file, numbered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from agent.approvals.paths import resolve
from agent.tools.arguments import known_only, required_text, whole_number
from agent.tools.base import Arguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.text_file import NotText, open_text
from session.models import CallOutcome

LINES, MOST_LINES = 500, 2_000
LINE_CHARS = 2_000
TOTAL_CHARS = 100_000

NAME = "read_file"
DESCRIPTION = (
    f"Read lines of a text file. Each comes as `number|text`, so what follows the first bar is the line itself. "
    f"Without limit, {LINES} lines; of a line, its first {LINE_CHARS:,} characters; in all, {TOTAL_CHARS:,} characters. "
    "What was left out is said at the end, in parentheses, with the way to get it."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or from the session's folder."},
        "offset": {"type": "integer", "minimum": 1, "description": "First line, counted from 1. Default 1."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_LINES,
            "description": f"How many lines. Default {LINES}.",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
_FIELDS = ("path", "offset", "limit")
_FARTHEST_LINE = 10**12
_SKIP_CHARS = 65_536


class _Line(Struct, frozen=True):
    """The shown part of a line, and how many of its characters that leaves out."""

    text: str
    over_chars: int
    is_crlf: bool

    def __str__(self) -> str:
        return self.text + (f" ⟨{self.over_chars:,} more characters on this line⟩" if self.over_chars else "")


def touches(args: Arguments, place: Workplace) -> Touch:
    return Touch(reads=(resolve(_path(args), place),))


def shown(args: Arguments) -> str:
    return _path(args)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path = resolve(_path(args), ctx.place)
    offset = whole_number(args, "offset", default=1, least=1, most=_FARTHEST_LINE)
    limit = whole_number(args, "limit", default=LINES, least=1, most=MOST_LINES)
    try:
        return ToolResult(await asyncio.to_thread(_read, path, offset, limit))
    except NotText as error:
        return ToolResult(f"{path} is {error}.", CallOutcome.ERROR)
    except OSError as error:
        return ToolResult(f"{path} could not be read: {error.strerror or error}.", CallOutcome.ERROR)


def _path(args: Arguments) -> str:
    known_only(args, _FIELDS)
    return required_text(args, "path")


def _read(path: Path, offset: int, limit: int) -> str:
    with open_text(path) as file:
        skipped = _skip(file, offset - 1)
        if skipped < offset - 1:
            return f"({path} ends at line {skipped:,}.)"
        return _numbered(file, offset, limit) or _nothing(path, offset)


def _nothing(path: Path, offset: int) -> str:
    return f"({path} is empty, 0 bytes.)" if offset == 1 else f"({path} ends at line {offset - 1:,}.)"


def _numbered(file: TextIO, offset: int, limit: int) -> str:
    """The lines with what has to be said of them; "" when there is none."""
    lines: list[str] = []
    notices: list[str] = []
    room = TOTAL_CHARS
    has_crlf = has_long = False
    while line := _next_line(file):
        number = offset + len(lines)
        if len(lines) == limit or room < LINE_CHARS:
            notices.append(f"(More lines follow: go on with offset {number}.)")
            break
        has_crlf |= line.is_crlf
        has_long |= line.over_chars > 0
        lines.append(f"{number}|{line}")
        room -= len(lines[-1])
    if has_crlf:
        notices.append("(Lines end in CR LF.)")
    if has_long:
        notices.append("(For the rest of a long line, cut it up with terminal: sed -n NUMBERp FILE | cut -c FROM-TO)")
    return "\n".join(lines + notices) if lines else ""


def _next_line(file: TextIO) -> _Line | None:
    start = file.readline(LINE_CHARS + 2)
    chars, end = len(start), start[-2:]
    while not end.endswith("\n") and (piece := file.readline(_SKIP_CHARS)):
        chars, end = chars + len(piece), (end + piece)[-2:]
    is_crlf = end == "\r\n"
    chars -= 2 if is_crlf else end.endswith("\n")
    text = start[: min(chars, LINE_CHARS)]
    return _Line(text, chars - len(text), is_crlf) if start else None


def _skip(file: TextIO, lines: int) -> int:
    """Pass over so many lines; returns how many there were. A line without end costs time, not memory."""
    passed = 0
    is_inside = False
    while passed < lines and (piece := file.readline(_SKIP_CHARS)):
        is_inside = not piece.endswith("\n")
        passed += not is_inside
    return passed + is_inside
