"""Telling a command, and one for the shell, from text that merely begins like one."""

from __future__ import annotations

import re
from difflib import get_close_matches

from msgspec import Struct

from agent.commands.table import Command

MARK = "!"  # before a command for the shell
_SHAPE = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*))?\s*", re.DOTALL)


class Call(Struct, frozen=True):
    """A command with its argument text."""

    command: Command
    argument: str


class Mistyped(Struct, frozen=True):
    """Looks like a command and is none. It is neither run nor sent: `suggestion` is the nearest name (F10)."""

    name: str
    suggestion: str


class OwnCommand(Struct, frozen=True):
    """A command that the person runs themselves; "" where they wrote none."""

    command: str


class Text(Struct, frozen=True):
    """A message for the model."""

    text: str


def read_line(text: str) -> Call | Mistyped | OwnCommand | Text:
    """What a person's line is. A line that begins with a path is text (F09); a leading space makes any line text (F11)."""
    if text.startswith(MARK):
        return OwnCommand(text.removeprefix(MARK).strip())
    match = _SHAPE.fullmatch(text)
    if match is None:
        return Text(text)
    from agent.commands.builtin import COMMANDS  # all commands: loaded behind the first frame, or with the first one

    name, argument = match[1].lower(), (match[2] or "").strip()
    names = {alias: command for command in COMMANDS for alias in (command.name, *command.aliases)}
    if name in names:
        return Call(names[name], argument)
    # Letters that changed places are the likelier slip: /modle is /model and not /mode.
    near = sorted(get_close_matches(name, names, cutoff=0.7), key=lambda other: sorted(other) != sorted(name))
    return Mistyped(name, near[0]) if near else Text(text)


def may_hold_secret(text: str) -> bool:
    """Whether a line is, or was meant as, a command whose line is kept nowhere."""
    match read_line(text.lstrip()):
        case Call(command=command):
            return command.may_hold_secret
        case Mistyped(suggestion=suggestion):
            from agent.commands.builtin import COMMANDS

            return any(command.may_hold_secret and suggestion == command.name for command in COMMANDS)
        case OwnCommand() | Text():
            return False
