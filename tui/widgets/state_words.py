"""How the state of a session is told: a sign, a word and a colour, in every place the same."""

from __future__ import annotations

import time

from msgspec import Struct

from agent.literal import visible
from agent.session_run import Live
from session.status import Status


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
STANDINGS = {
    Status.COMPLETE: TELLINGS[Live.IDLE],
    Status.CUT: Telling("◌", "cut", "$text-warning"),
    Status.WAITING: Telling("?", "waiting", "$text-warning"),
    Status.WORKING: Telling("●", "working elsewhere", "$text-primary"),
}


def telling(state: Live, *, is_unread: bool = False, standing: Status = Status.COMPLETE) -> Telling:
    """`standing` is that of a session which is not open here, as the store tells it."""
    if state is Live.IDLE and is_unread:
        return UNREAD
    return STANDINGS[standing] if state is Live.IDLE else TELLINGS[state]


def day_told(at: float) -> str:
    """The day of a time, such as "2026-12-01"; "" where a damaged or imported row has none."""
    try:
        return time.strftime("%Y-%m-%d", time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return ""


def one_line(text: str) -> str:
    """Any text as one literal line."""
    return " ".join(visible(text[:2_000]).split())
