"""`read_file`: lines of a text file, numbered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

from msgspec import Struct

from agent.approvals.paths import resolve
from agent.tools.arguments import known_only, required_text, whole_number
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.file_lines import LINE_CHARS, Line, last_lines, lines_of, skip_lines
from agent.tools.opened import NotReadable, file_at
from agent.tools.seen_files import FileState, SeenFiles, SeenLines, state_of
from agent.tools.text_file import as_text, probed
from session.models import CallOutcome

LINES, MOST_LINES = 500, 2_000
TOTAL_CHARS = 100_000

NAME = "read_file"
DESCRIPTION = (
    f"Read lines of a text file. Each comes as `number|text`, so what follows the first bar is the line itself. "
    f"Without limit, {LINES} lines; of a line, its first {LINE_CHARS:,} characters; in all, {TOTAL_CHARS:,} characters. "
    "What was left out is said at the end, in parentheses, with the way to get it. A negative offset counts from the end: "
    "-20 reads the last 20 lines, at once in a file of any size. Lines that were read before and have not changed are "
    "not repeated, unless they are asked for again."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or from the session's folder."},
        "offset": {
            "type": "integer",
            "description": f"First line, counted from 1, or from the end down to -{MOST_LINES}. Default 1.",
        },
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


class _Wanted(Struct, frozen=True):
    path: Path
    offset: int
    limit: int


class _Page(Struct, frozen=True):
    """What is told of a file, and which of its lines that shows, where they can be counted."""

    text: str
    state: FileState
    lines: SeenLines | None = None
    is_repeat: bool = False


class _Shown(Struct, frozen=True):
    """`last` is the number of the last line, one before the first where there is none."""

    text: str
    last: int
    is_end: bool
    is_cut: bool


def touches(args: Arguments, place: Workplace) -> Touch:
    return Touch(reads=(resolve(_path(args), place),))


def shown(args: Arguments) -> str:
    return _path(args)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path = (ctx.touch or touches(args, ctx.place)).reads[0]
    try:
        page = await asyncio.to_thread(_read, _wanted(path, args), ctx.seen)
    except NotReadable as error:
        return ToolResult(f"{path} is {error}.", CallOutcome.ERROR)
    except OSError as error:
        return ToolResult(f"{path} could not be read: {error.strerror or error}.", CallOutcome.ERROR)
    if page.is_repeat:
        ctx.seen.forget_shown(path)
    elif page.lines is not None:
        ctx.seen.note_read(path, page.state, page.lines)
    return ToolResult(page.text)


def _path(args: Arguments) -> str:
    known_only(args, _FIELDS)
    return required_text(args, "path")


def _wanted(path: Path, args: Arguments) -> _Wanted:
    offset = whole_number(args, "offset", default=1, least=-MOST_LINES, most=_FARTHEST_LINE)
    if not offset:
        raise BadArguments('"offset" counts from 1, or from -1 for the last line; there is no line 0.')
    limit = whole_number(args, "limit", default=LINES, least=1, most=MOST_LINES)
    return _Wanted(path, offset, limit)


def _read(wanted: _Wanted, seen: SeenFiles) -> _Page:
    path, first = wanted.path, wanted.offset
    with file_at(path) as file:
        state = state_of(file.fileno())
        if first > 0 and seen.is_shown(path, state, first, first + wanted.limit - 1):
            return _Page(_unchanged(path), state, is_repeat=True)
        found = (_from_front if first > 0 else _from_end)(file, wanted, state)
        # What changed while it was read was not seen as it is now.
        return found if state_of(file.fileno()) == state else _Page(found.text, state)


def _unchanged(path: Path) -> str:
    return (
        f"({path} is unchanged since these lines were read in this session. If they are not before you any more, make the "
        "same call again.)"
    )


def _from_front(file: BufferedReader, wanted: _Wanted, state: FileState) -> _Page:
    path, offset = wanted.path, wanted.offset
    encoding, line_end = probed(file)
    with as_text(file, encoding, line_end) as text:
        if (skipped := skip_lines(text, offset - 1, line_end)) < offset - 1:
            return _Page(f"({path} ends at line {skipped:,}.)", state)
        shown = _numbered(lines_of(text, line_end), offset, wanted.limit, line_end)
        if not shown.text:
            ends = f"({path} is empty, 0 bytes.)" if offset == 1 else f"({path} ends at line {offset - 1:,}.)"
            return _Page(ends, state)
        total = shown.last if shown.is_end else None
        return _Page(shown.text, state, SeenLines(offset, shown.last, total, shown.is_cut))


def _from_end(file: BufferedReader, wanted: _Wanted, state: FileState) -> _Page:
    path, offset = wanted.path, wanted.offset
    encoding, line_end = probed(file)
    found = last_lines(file, encoding, line_end, -offset)
    if not found.lines:
        return _Page(f"({path} is empty, 0 bytes.)", state)
    first = 1 if found.are_all else -len(found.lines)
    shown = _numbered(found.lines, first, wanted.limit, line_end)
    if found.are_all:
        return _Page(shown.text, state, SeenLines(1, shown.last, len(found.lines), shown.is_cut))
    notices = ["(Counted from the end: -1 is the last line. How many lines there are was not looked at.)"]
    if len(found.lines) < -offset:
        notices.append("(The lines before these are out of reach from the end: count from the front.)")
    return _Page("\n".join([shown.text, *notices]), state)


def _numbered(found: Iterable[Line], first: int, limit: int, line_end: str) -> _Shown:
    """The lines with what has to be said of them."""
    lines: list[str] = []
    notices: list[str] = []
    room = TOTAL_CHARS
    is_end, has_crlf, has_long = True, False, False
    for number, line in enumerate(found, first):
        if len(lines) == limit or room < LINE_CHARS:
            notices.append(f"(More lines follow: go on with offset {number}.)")
            is_end = False
            break
        has_crlf |= line.is_crlf
        has_long |= line.over_chars > 0 or line.is_headless
        lines.append(f"{number}|{line}")
        room -= len(lines[-1])
    if has_crlf or (lines and line_end == "\r"):
        notices.append(f"(Lines end in {'CR LF' if has_crlf else 'CR'}.)")
    if has_long:
        notices.append("(For the rest of a long line, cut it up with terminal: sed -n NUMBERp FILE | cut -c FROM-TO)")
    text = "\n".join(lines + notices) if lines else ""
    return _Shown(text, first + len(lines) - 1, is_end, has_long)
