"""The system prompt, part by part, in an order that keeps its beginning the same for as long as anything can."""

from __future__ import annotations

import platform
import re
from enum import StrEnum

from msgspec import Struct

from session.models import Session

IDENTITY = """\
You are hermes, an agent working in a person's terminal, on their machine and their files.

Do what is asked, with the tools you have, and say plainly what you did and what you could not do. Look before you change \
something; change no more than the task needs. When a command or a write is refused, take the refusal as final: do not try \
to reach the same result another way; say what you would have done and ask. If an answer rests on a guess, say so. \
Write for a terminal: short paragraphs, code in fences."""

_DAY = re.compile(r"\nDate: ([0-9]{4}-[0-9]{2}-[0-9]{2})\Z")


class Tier(StrEnum):
    """How long a part stays as it is: across sessions, across those of a project, or for one session alone."""

    STABLE = "stable"
    CONTEXT = "context"
    VOLATILE = "volatile"
    OVERLAY = "overlay"  # behind the prompt, and no part of what is kept of it


class PromptPart(Struct, frozen=True):
    """`origin` is where the text comes from: a file, a setting, or hermes itself."""

    name: str
    tier: Tier
    text: str
    origin: str = "hermes"


class Prompt(Struct, frozen=True):
    """The parts, the stable ones first. `notices` tell the person what could not be read, or not whole."""

    parts: tuple[PromptPart, ...]
    notices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(part.text for part in self.parts)

    @property
    def rules(self) -> str:
        """What of it a project brought."""
        return "\n\n".join(part.text for part in self.parts if part.tier is Tier.CONTEXT)


def environment(session: Session, day: str) -> PromptPart:
    """Where the session works. It tells the day and no time, so that the sessions of a day begin alike."""
    text = (
        f"Working folder: {session.cwd}\nWorkspace: {session.workspace}\n"
        f"System: {platform.system()} {platform.machine()}\nDate: {day}"
    )
    return PromptPart("environment", Tier.VOLATILE, text)


def day_in(text: str) -> str:
    """The day on which a prompt was made, "" where it is none of ours."""
    found = _DAY.search(text)
    return found[1] if found else ""
