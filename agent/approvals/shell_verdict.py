"""What a command line was judged to be, as data: every part of it with its verdict and the rule that gave it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Decision(StrEnum):
    """From the mildest to the strictest. `DENY` is a rule of the person, `NEVER` the floor that no mode and no rule lifts."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    NEVER = "never"


class Mode(StrEnum):
    """How much a session asks."""

    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    YOLO = "yolo"


# The rules that are no person's. What was asked for want of one can be given one.
READ_ONLY = "read-only"
NO_RULE = "no rule"
UNJUDGED = "cannot be judged"
REDIRECTION = "redirection"
SETTING = "setting"
WRAPPED = "wrapper"
FLOOR = "floor"
GUARDED = "protected file"
UNSEEN = "unknown target"


class Part(Struct, frozen=True):
    """One command of a line. `argv` is what runs in the end, wrappers taken off; None where the text does not fix it.

    `why` completes "Asked because it ..." ; `is_open` says that more arguments follow which nobody knows beforehand.
    """

    text: str
    argv: tuple[str, ...] | None
    verdict: Decision
    rule: str
    why: str = ""
    is_open: bool = False


class Mark(Struct, frozen=True):
    """Something dangerous that a person should see. `is_floor` is what never runs, not even in yolo."""

    kind: str
    why: str
    is_floor: bool = False


class CommandVerdict(Struct, frozen=True):
    """The strictest verdict among the parts is that of the whole."""

    verdict: Decision
    parts: tuple[Part, ...]
    marks: tuple[Mark, ...] = ()


_STRICTNESS = tuple(Decision)


def strictest(parts: tuple[Part, ...]) -> Decision:
    """A line without any part does nothing that could be judged, so it asks."""
    return max((part.verdict for part in parts), key=_STRICTNESS.index, default=Decision.ASK)
