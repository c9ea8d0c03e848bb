"""How the state of a session is told: a sign, a word and a colour, in every place the same."""

from __future__ import annotations

from msgspec import Struct

from agent.literal import visible
from agent.runtime import Live


class Telling(Struct, frozen=True):
    """`style` is a theme variable; nothing depends on it alone."""

    sign: str
    word: str
    style: str


TELLINGS = {
    Live.IDLE: Telling("○", "idle", "$foreground 68%"),
    Live.WORKING: Telling("●", "working", "$text-primary"),
    Live.ASKING: Telling("?", "asking", "$text-warning"),
    Live.FAILED: Telling("✗", "failed", "$text-error"),
}
UNREAD = Telling("◆", "unread", "$text-accent")


def telling(state: Live, *, is_unread: bool = False) -> Telling:
    return UNREAD if is_unread and state is Live.IDLE else TELLINGS[state]


def one_line(text: str) -> str:
    """Any text as one literal line."""
    return " ".join(visible(text[:2_000]).split())
