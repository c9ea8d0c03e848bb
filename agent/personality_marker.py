"""The line in front of a prompt that tells a model of a change of personality: what it said before is no example any more.

It is part of what is sent of that prompt and of nothing else, so that turns go on to alternate; which personality a model
was told of last is read from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from session.models import Message, Role

BEGUN = "[From here on speak as the personality “{name}” of the system prompt says.]"
ENDED = "[From here on speak as yourself again: no personality holds any more.]"
BEGINNING = "[From here on speak as "
_MARKER = re.compile(r"\[From here on speak as (?:the personality “(?P<name>[\w-]+)” of|yourself again:)[^\]\n]*\]\n\n")


def marker_for(name: str, rows: Sequence[Message], summed_up: str = "") -> str:
    """What to put before the next prompt, "" where the model knows already. `name` is "" for no personality.

    `summed_up` is the last marked prompt among those in whose place a summary stands: the model may go on speaking as in
    them, so that it is told of an end; a personality that holds is told of anew.
    """
    if name == told_last(rows, "" if name else summed_up):
        return ""
    return BEGUN.format(name=name) if name else ENDED


def told_last(rows: Sequence[Message], summed_up: str = "") -> str:
    """The personality that the latest marker names, "" for none."""
    latest = _latest(rows) or _MARKER.match(summed_up)
    return latest["name"] or "" if latest else ""


def is_told_before(rows: Sequence[Message]) -> bool:
    """Whether only what a summary stands for can tell which personality was told of last."""
    return any(row.is_summary for row in rows) and _latest(rows) is None


def _latest(rows: Sequence[Message]) -> re.Match[str] | None:
    marks = (_MARKER.match(row.sent) for row in reversed(rows) if row.role is Role.USER and row.sent)
    return next(filter(None, marks), None)


def marked(row: Message, marker: str) -> Message:
    """A prompt with a marker before what is sent of it; what the person typed stays as it is."""
    return replace(row, sent=f"{marker}\n\n{row.sent or row.content}") if marker else row


def unmarked(text: str) -> str:
    """What was sent of a prompt, without a marker."""
    return _MARKER.sub("", text, count=1) if _MARKER.match(text) else text


def as_typed(row: Message, typed: str) -> Message:
    """A prompt with what was typed in the place of what is stored, where a secret stands in it."""
    found = _MARKER.match(row.sent)
    return replace(
        row, content=typed, sent=found[0] + typed if found and unmarked(row.sent) == row.content else row.sent
    )
