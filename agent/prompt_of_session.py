"""The system prompt of one session: made once, kept to the byte, and what is laid over it for as long as that holds.

`invalidate_prompt` is for whoever changes what it is made of.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent.personality import Personality
from agent.prompt import Prompt, PromptPart, Tier
from agent.prompt_source import GONE, PromptSource
from session.models import Session

if TYPE_CHECKING:
    from agent.open_session import OpenSession


class SessionPrompt:
    """What the model is told before the rows. Until it is made it is empty, and so is the session."""

    def __init__(self, source: PromptSource) -> None:
        self._source = source
        self._made = Prompt(())
        self._made_for: tuple[str, str, int] | None = None
        self._changes = 0  # of what it is made of
        self._notices: list[str] = []
        self._wanted = ""
        self.personality: Personality | None = None  # the one that is laid over it
        # They are asked for with every figure of the context, so they are put together once.
        self.base = ""  # what is kept, without the personality: the same bytes in each request
        self.rules = ""  # what of it a project brought
        self.text = ""

    @property
    def parts(self) -> tuple[PromptPart, ...]:
        """All of it, in order."""
        over = self.personality
        if over is None:
            return self._made.parts
        return (*self._made.parts, PromptPart("personality", Tier.OVERLAY, over.overlay, over.shown or over.source))

    def invalidate(self) -> None:
        """Have it made anew before the next turn."""
        self._changes += 1

    @property
    def is_outdated(self) -> bool:
        """Whether the next turn makes it anew, or has something to tell of it."""
        return bool(self._notices) or self._made_for is None or self._made_for[2] != self._changes

    async def ready(self, session: Session, window: int | None, kept: str = "") -> None:
        """Make what is missing. `kept` is the prompt that the session was stored with."""
        wanted_for = (session.cwd, session.workspace, self._changes)
        if wanted_for != self._made_for:
            made = await asyncio.to_thread(self._source.make, session, window, kept)
            self._made, self._made_for = made, wanted_for
            self.base, self.rules = made.text, made.rules
            self._notices = [*made.notices]  # what was not told of the former one is not true any more
        await self.lay_over(session.personality)

    async def lay_over(self, name: str) -> None:
        """Take in a personality as it is on the disk now; "" takes it away. One that is gone is told once."""
        self._wanted = name
        found = (await asyncio.to_thread(self._source.read_personalities)).find(name) if name else None
        if self._wanted != name:
            return  # another one was chosen meanwhile
        if name and found is None:
            self._notices.append(GONE.format(name=name))
        self.personality = found
        self.text = f"{self.base}\n\n{found.overlay}" if found else self.base

    def notices(self) -> list[str]:
        """What a person has to be told of it, and is told by whoever asks."""
        told, self._notices = list(dict.fromkeys(self._notices)), []
        return told


async def ready_prompt(s: OpenSession, kept: str = "") -> None:
    """Have all of it there: before a turn, and for whoever looks at a session in which nothing was asked yet."""
    await s.speech.ready(s.session, s.parts.windows.on(s.route).window, kept)


def invalidate_prompt(s: OpenSession) -> None:
    """Have the system prompt of a session made anew at its next turn: its folder, files or settings changed."""
    s.speech.invalidate()
