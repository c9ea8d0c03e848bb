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
_MARKER = re.compile(r"\[From here on speak as (?:the personality “(?P<name>[\w-]+)” of|yourself again:)[^\]\n]*\]\n\n")


def marker_for(name: str, rows: Sequence[Message]) -> str:
    """What to put before the next prompt, "" where the model knows already. `name` is "" for no personality."""
    if name == told_last(rows):
        return ""
    return BEGUN.format(name=name) if name else ENDED


def told_last(rows: Sequence[Message]) -> str:
    """The personality that the latest marker names, "" for none."""
    marks = (_MARKER.match(row.sent) for row in reversed(rows) if row.role is Role.USER and row.sent)
    latest = next(filter(None, marks), None)
    return latest["name"] or "" if latest else ""


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
