"""The system prompt: the same bytes for the whole of a session, so that servers can reuse what they have read."""

from __future__ import annotations

import platform

from agent.personality import PERSONALITIES
from session.models import Session

IDENTITY = """\
You are hermes, an agent working in a person's terminal, on their machine and their files.

Do what is asked, with the tools you have, and say plainly what you did and what you could not do. Look before you change \
something; change no more than the task needs. When a command or a write is refused, take the refusal as final: do not try \
to reach the same result another way; say what you would have done and ask. If an answer rests on a guess, say so. \
Write for a terminal: short paragraphs, code in fences."""


def system_prompt(session: Session, identity: str = "") -> str:
    """What the model is told before the conversation. `identity` is the person's own text in place of ours.

    The personality comes last, so that the part before it stays the same.
    """
    parts = [
        identity or IDENTITY,
        f"Working folder: {session.cwd}\nWorkspace: {session.workspace}\nSystem: {platform.system()} {platform.machine()}",
    ]
    overlay = PERSONALITIES.get(session.personality)
    if overlay is not None:
        parts.append(f"How to speak in this session: {overlay}")
    return "\n\n".join(parts)
