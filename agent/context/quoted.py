"""Rows of a conversation as text that a model reads about, instead of taking part in: numbered, dated and cut to size.

Every line of what was said is set in by one space and no heading is, so that nothing that was said can pass for a heading.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from agent.context.shortened import one_line
from session.json_columns import decode_parts
from session.models import Message, Role, ToolCall

MOST_CHARS = 6_000  # of one prompt or answer
ARGUMENT_CHARS = 600  # of what one call was given
SHORT_RESULT_CHARS = 300  # up to here a result stays as it is
LAST_RESULTS, LAST_RESULT_CHARS = 4, 2_000  # the last few tell more
WHO = {Role.USER: "the person", Role.ASSISTANT: "the assistant", Role.TOOL: "a tool"}


def quoted(rows: Sequence[Message]) -> list[str]:
    """A text for each row that says something to a model, in order. Summaries are not quoted: see `summary.summarise`."""
    said = [row for row in rows if row.role is not Role.NOTICE and not row.is_damaged and not row.is_summary]
    calls = {call.id: call for row in said for call in row.calls}
    results = _results(said, calls)
    texts = [(row, results.get(number, "") or _text(row)) for number, row in enumerate(said, start=1)]
    return [_entry(number, row, text) for number, (row, text) in enumerate(texts, start=1) if text]


def cut(text: str, chars: int) -> str:
    """The beginning and the end of a text that is too long, with how much is missing."""
    if len(text) <= chars:
        return text
    end = chars // 4
    return f"{text[: chars - end]} [… {len(text) - chars:,} characters left out …] {text[len(text) - end :]}"


def _entry(number: int, row: Message, text: str) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created_at))
    lines = "\n".join(f" {line}" for line in text.splitlines())
    return f"{number}. {WHO[row.role]}, {at}:\n{lines}"


def _text(row: Message) -> str:
    said = cut((row.content or row.refusal).strip(), MOST_CHARS)
    things = [_placeholder(part) for part in decode_parts(row.parts)] if row.parts else []
    calls = row.calls if row.role is Role.ASSISTANT else ()  # a command of the person's is the text of its row
    made = [f"calls {call.name} with {cut(call.arguments, ARGUMENT_CHARS)}" for call in calls]
    return "\n".join(filter(None, (said, *things, *made)))


def _placeholder(part: dict[str, object]) -> str:
    match part.get("type"):
        case "text" | "input_text":
            return ""
        case "image_url" | "input_image":
            return "[an image]"
        case _:
            return "[something that is no text]"


def _results(said: Sequence[Message], calls: Mapping[str, ToolCall]) -> dict[int, str]:
    """What is told of each result, by its number: of one that came again later only that it did."""
    told: dict[int, str] = {}
    later: dict[tuple[str, str], int] = {}
    for number, row in reversed(list(enumerate(said, start=1))):
        if row.result is None:
            continue
        key = row.result.tool, row.content
        limit = LAST_RESULT_CHARS if len(told) < LAST_RESULTS else SHORT_RESULT_CHARS
        if len(row.content) > SHORT_RESULT_CHARS and key in later:
            told[number] = f"[the same as in {later[key]}]"
        elif len(row.content) <= limit or len(told) < LAST_RESULTS:
            told[number] = cut(row.content, limit) or "[nothing]"
        else:
            told[number] = one_line(row, calls.get(row.result.call_id))
        later.setdefault(key, number)
    return told
