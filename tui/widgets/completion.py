"""What is being written at the cursor that could be completed, and what an answer makes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from agent.commands.suggestions import Suggestion

_FILE = re.compile(r'(?:^|(?<=[\s(]))@(?:"((?:[^"\\]|\\.)*)|([^\s"]*))$')
_PATH = re.compile(r'(?:^|(?<=\s))(?:"((?:~|\.{1,2})?/[^"\\]*(?:\\.[^"\\]*)*)|((?:~|\.{1,2})?/[^\s"]*))$')
_ESCAPED = re.compile(r"\\(.)")
_NEEDS_QUOTES = re.compile(r'[\s"()]')


class Kind(StrEnum):
    """What can be completed."""

    COMMAND = "command"
    FILE = "file"
    PATH = "path"


class Token(Struct, frozen=True):
    """A part of a line that ends at the cursor. `written` is what it means, without quotes."""

    kind: Kind
    start: int
    written: str


class Completer(Protocol):
    """Knows what there is to be named in the session that is written to."""

    def command(self, line: str) -> tuple[int, Sequence[Suggestion]]:
        """For a line that begins with a slash: where what is suggested begins, and the suggestions."""
        ...

    async def files(self, written: str) -> Sequence[str]:
        """Files of the workspace, from its folder."""
        ...

    async def paths(self, written: str) -> Sequence[str]:
        """Whatever lies at a path that is not written to its end."""
        ...


def token_before(line: str, *, is_first: bool) -> Token | None:
    """What could be completed at the end of a line. `is_first`: it is the first of the draft, and may be a command."""
    if found := _FILE.search(line):
        return Token(Kind.FILE, found.start(), _meant(found))
    path = _PATH.search(line)
    is_command = is_first and line.startswith("/") and "/" not in line[1:].partition(" ")[0]
    if is_command and (path is None or path.start() == 0):
        return Token(Kind.COMMAND, 0, line)
    return Token(Kind.PATH, path.start(), _meant(path)) if path else None


def as_suggestions(kind: Kind, paths: Sequence[str]) -> list[Suggestion]:
    """Paths as they are written into a draft; one that is a folder goes on."""
    sign = "@" if kind is Kind.FILE else ""
    return [Suggestion(sign + _quoted(path), shown=path, is_whole=not path.endswith("/")) for path in paths]


def _quoted(path: str) -> str:
    if not _NEEDS_QUOTES.search(path):
        return path
    inner = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}' if path.endswith("/") else f'"{inner}"'


def _meant(found: re.Match[str]) -> str:
    quoted, plain = found.groups()
    return plain if quoted is None else _ESCAPED.sub(r"\1", quoted)
