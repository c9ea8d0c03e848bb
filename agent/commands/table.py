"""The one table of commands: slash commands, help and completion are read from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum

from msgspec import Struct

from agent.hub import Hub
from session.models import Level


class When(StrEnum):
    """When a command is allowed."""

    ALWAYS = "always"
    IDLE = "idle"  # not while a turn runs in the session


class Said(Struct, frozen=True):
    """The command answers with a line."""

    text: str
    level: Level = Level.INFO


class Opened(Struct, frozen=True):
    """The command leads to a session, which the screen shows."""

    session_id: str


class Entered(Struct, frozen=True):
    """The command leads to another profile, which the front end opens beside those that are open."""

    profile: str


class Renamed(Struct, frozen=True):
    """The command gives the profile that is shown another name, which only the program that has it open can do."""

    profile: str


class Page(Struct, frozen=True):
    """The command answers with a page of markdown."""

    title: str
    markdown: str


class Left(Struct, frozen=True):
    """The command leaves the program."""


Effect = Said | Opened | Entered | Renamed | Page | Left


class Command(Struct, frozen=True):
    """One command. `arguments` is how they are written in help; `act` gets hub, session id and the argument text."""

    name: str
    arguments: str
    summary: str
    when: When
    act: Callable[[Hub, str, str], Awaitable[Effect]]
    aliases: tuple[str, ...] = ()
