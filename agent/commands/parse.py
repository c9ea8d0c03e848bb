"""Telling a command from text that merely begins with a slash."""

from __future__ import annotations

import re
from difflib import get_close_matches

from msgspec import Struct

from agent.commands.builtin import COMMANDS
from agent.commands.table import Command

_SHAPE = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*))?\s*", re.DOTALL)


class Call(Struct, frozen=True):
    """A command with its argument text."""

    command: Command
    argument: str


class Mistyped(Struct, frozen=True):
    """Looks like a command and is none. It is neither run nor sent: `suggestion` is the nearest name (F10)."""

    name: str
    suggestion: str


class Text(Struct, frozen=True):
    """A message for the model."""

    text: str


def read_line(text: str) -> Call | Mistyped | Text:
    """What a person's line is. A line that begins with a path is text (F09); a leading space makes any line text (F11)."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        return Text(text)
    name, argument = match[1].lower(), (match[2] or "").strip()
    names = {alias: command for command in COMMANDS for alias in (command.name, *command.aliases)}
    if name in names:
        return Call(names[name], argument)
    near = get_close_matches(name, names, n=1, cutoff=0.7)
    return Mistyped(name, near[0]) if near else Text(text)
