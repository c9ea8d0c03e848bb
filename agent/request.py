"""Stored rows as the messages of a request: always a legal conversation, whatever happened to the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from session.models import Message, Role, ToolCall

LOST_RESULT = "[no result was recorded for this call; whether it had an effect is unknown]"

Wire = dict[str, object]


def wire_messages(rows: Sequence[Message], system: str) -> list[Wire]:
    """Chat-shaped messages: the system prompt, then every row that says something to a model, calls paired with results."""
    results = {row.result.call_id: row for row in rows if row.result is not None}
    messages: list[Wire] = [{"role": "system", "content": system}]
    for row in rows:
        match row.role:
            case Role.USER:
                _add_user(messages, row.content)
            case Role.ASSISTANT:
                messages.extend(_answer(row, results))
            case Role.TOOL | Role.NOTICE:
                continue  # a result stands right behind its call, an orphan nowhere
    return messages


def _add_user(messages: list[Wire], text: str) -> None:
    """Two prompts in a row (the first was interrupted before an answer) become one: strict templates want turns to alternate."""
    last = messages[-1]
    if last["role"] == "user":
        last["content"] = f"{last['content']}\n\n{text}"
    else:
        messages.append({"role": "user", "content": text})


def _answer(row: Message, results: dict[str, Message]) -> Iterable[Wire]:
    text = row.content or row.refusal
    if not row.calls:
        # An empty answer is shown to the person but never sent: servers refuse an empty block (A31).
        return [{"role": "assistant", "content": text}] if text else []
    said: Wire = {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [_wire_call(call) for call in row.calls],
    }
    return [said, *(_wire_result(call, results.get(call.id)) for call in row.calls)]


def _wire_call(call: ToolCall) -> Wire:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": legal_arguments(call.arguments)},
    }


def legal_arguments(raw: str) -> str:
    """Arguments a server will take back. Broken JSON would poison the history with a 400 on each request (A18)."""
    try:
        parsed = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return "{}"
    return raw if isinstance(parsed, dict) else "{}"


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON, though Python reads it")


def _wire_result(call: ToolCall, row: Message | None) -> Wire:
    return {"role": "tool", "tool_call_id": call.id, "content": row.content if row else LOST_RESULT}
