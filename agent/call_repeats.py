"""Noticing that a model makes the same call again and again (T20)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent.call_reading import ReadCall
from session.models import CallOutcome, Message, Role, ToolCall

TOLD_FROM = 3  # the third time, and each one after it
NOTE_HEAD = "\n⟨This very call was made "


def note_on_repeats(rows: Sequence[Message], read: ReadCall, text: str) -> str:
    """What to add to a result, "" for nothing: where the same call came three times in a row, or gave the same three
    times in this turn, whatever came between. A call between which something was changed may well be made again."""
    times = max(_in_a_row(rows, read), _with_same_result(rows, read, text))
    if times < TOLD_FROM:
        return ""
    return (
        f"{NOTE_HEAD}{times} times in this turn. Making it again will not bring more: go on with what it gave, try "
        "something else, or tell the person what is in the way.⟩"
    )


def _in_a_row(rows: Sequence[Message], read: ReadCall) -> int:
    """This call and those like it directly before it."""
    times = 0
    for call in reversed(_made(rows, read.call.id)):
        if not _is_same(call, read):
            break
        times += 1
    return times


def _with_same_result(rows: Sequence[Message], read: ReadCall, text: str) -> int:
    results = {row.result.call_id: row for row in _turn(rows) if row.result and row.result.outcome is CallOutcome.OK}
    earlier = (results[call.id] for call in _made(rows, read.call.id) if call.id in results and _is_same(call, read))
    return 1 + sum(row.content.partition(NOTE_HEAD)[0] == text for row in earlier)


def _made(rows: Sequence[Message], last_id: str) -> list[ToolCall]:
    """The calls of this turn up to one of them."""
    calls = [call for row in _turn(rows) for call in row.calls]
    at = next((at for at, call in enumerate(calls) if call.id == last_id), len(calls) - 1)
    return calls[: at + 1]


def _turn(rows: Sequence[Message]) -> Sequence[Message]:
    begin = next((at for at in range(len(rows) - 1, -1, -1) if rows[at].role is Role.USER), 0)
    return rows[begin:]


def _is_same(call: ToolCall, read: ReadCall) -> bool:
    return call.name == read.call.name and (call.arguments == read.call.arguments or _key(call.arguments) == read.key)


def _key(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return ""
