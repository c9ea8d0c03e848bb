"""Results of tools made shorter for the model, so that a turn goes on that has read more than fits.

Only what is sent becomes shorter: a row's content stays as it is, for the person and for search.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from session.models import CallOutcome, Message, Role, ToolCall

SPOKEN_CHARS = 120  # of what a call was given
LEFT_OUT = "\n[… {chars:,} characters of this result were left out: it does not fit. Read it in smaller pieces. …]\n"

Price = Callable[[Message], int]


def shortened(rows: Sequence[Message], price: Price, goal: int, most: int) -> list[Message]:
    """The results to be sent otherwise, as they would be: one line each, the oldest first, until `rows` take `goal` tokens.

    The results that no answer followed yet are what the model waits for. They are touched last, only where the rows would
    still take more than `most`, and their beginning and end stay.
    """
    calls = {call.id: call for row in rows for call in row.calls}
    unread = _unread(rows)
    tokens = sum(map(price, rows))
    made: list[Message] = []
    for row in rows:
        if row.result is None or tokens <= (most if row.id in unread else goal):
            continue
        limit = price(row) - (tokens - most) if row.id in unread else 0
        short = _excerpt(row, price, limit) if row.id in unread else _in_one_line(row, calls)
        if (saved := price(row) - price(short)) > 0:
            made.append(short)
            tokens -= saved
    return made


def one_line(row: Message, call: ToolCall | None) -> str:
    """What is left of a result: which tool was given what, and what came of it."""
    assert row.result is not None
    lines = row.content.count("\n") + bool(row.content)
    size = f"{lines:,} line{'' if lines == 1 else 's'}, {len(row.content):,} characters"
    given = _spoken(call.arguments) if call is not None else ""
    return f"[{row.result.tool}{f' {given}' if given else ''} → {_outcome(row)}, {size}; left out to make room]"


def _in_one_line(row: Message, calls: Mapping[str, ToolCall]) -> Message:
    assert row.result is not None
    return replace(row, sent=one_line(row, calls.get(row.result.call_id)))


def _unread(rows: Sequence[Message]) -> set[int]:
    """The ids of the results behind the last answer."""
    last = max((place for place, row in enumerate(rows) if row.role is Role.ASSISTANT), default=-1)
    return {row.id for row in rows[last + 1 :] if row.result is not None}


def _excerpt(row: Message, price: Price, limit: int) -> Message:
    """The beginning and the end of a result, as much of them as `limit` tokens hold; at least the word that it was cut."""
    text = row.sent or row.content
    for kept in _halvings(len(text)):
        left_out = LEFT_OUT.format(chars=len(text) - 2 * kept)
        short = replace(row, sent=text[:kept] + left_out + text[len(text) - kept :])
        if price(short) <= limit:
            return short
    return replace(row, sent=LEFT_OUT.format(chars=len(text)).strip())


def _halvings(chars: int) -> Iterator[int]:
    """How much may stay at either end, ever less."""
    while chars > 8:
        chars = chars * 3 // 4
        yield chars // 2


def _outcome(row: Message) -> str:
    assert row.result is not None
    if row.result.exit_code is not None:
        return f"exit {row.result.exit_code}"
    return "ok" if row.result.outcome is CallOutcome.OK else row.result.outcome.value.replace("_", " ")


def _spoken(arguments: str) -> str:
    """The first text that a call was given, on one line."""
    try:
        given = cast("object", json.loads(arguments))
    except (ValueError, RecursionError):
        return ""
    values = cast("dict[str, object]", given).values() if isinstance(given, dict) else ()
    text = " ".join(next((value for value in values if isinstance(value, str)), "").split())
    return text if len(text) <= SPOKEN_CHARS else f"{text[:SPOKEN_CHARS]}…"
