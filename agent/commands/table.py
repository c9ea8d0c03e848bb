"""The one table of commands: slash commands, help and completion are read from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from agent.hub import Hub
from session.models import Level


class When(StrEnum):
    """When a command is allowed."""

    ALWAYS = "always"
    IDLE = "idle"  # not while a turn runs in the session


@dataclass(frozen=True, slots=True)
class Said:
    """The command answers with a line."""

    text: str
    level: Level = Level.INFO


@dataclass(frozen=True, slots=True)
class Opened:
    """The command leads to a session, which the screen shows."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Page:
    """The command answers with a page of markdown."""

    title: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Left:
    """The command leaves the program."""


Effect = Said | Opened | Page | Left


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `arguments` is how they are written in help; `act` gets hub, session id and the argument text."""

    name: str
    arguments: str
    summary: str
    when: When
    act: Callable[[Hub, str, str], Awaitable[Effect]]
    aliases: tuple[str, ...] = ()
