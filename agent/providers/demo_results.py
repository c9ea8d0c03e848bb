"""What the built-in demo says to the results of its tool calls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.providers.wire_json import NO_FIELDS, Object, as_list, as_object, as_text, parsed

QUOTED_LINES = 12
LINE_WIDTH = 200

CLOSING = (
    "A real model would now think about this and go on; the demo stops here. What next? (`help` lists what I know.)"
)


def conclude(messages: Sequence[Object]) -> str:
    """What came of the calls that the last results belong to."""
    results: list[Object] = []
    calls: list[Object] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            calls = calls_of(message)
            break
        results.insert(0, message)
    by_id = {as_text(call.get("id")): call for call in calls}
    told = [_tell(by_id.get(as_text(result.get("tool_call_id")), NO_FIELDS), text_of(result)) for result in results]
    return "\n\n".join([*told, CLOSING])


def text_of(message: Object) -> str:
    """The text of a message, whose content is a string, a list of parts, or null beside tool calls."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(as_text(as_object(part).get("text")) for part in as_list(content))


def calls_of(message: Object) -> list[Object]:
    return [as_object(call) for call in as_list(message.get("tool_calls"))]


def _tell(call: Object, text: str) -> str:
    name = code(_shown(call))
    if text.startswith("Not run: the person denied"):
        return f"You denied {name}, so it did not run and nothing has changed."
    if text.startswith("Not run:"):
        return f"{name} did not run: {_first_sentence(text.removeprefix('Not run:'))}"
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        return f"{name} finished and printed nothing."
    quoted = "\n".join(line[:LINE_WIDTH] for line in lines[:QUOTED_LINES])
    more = len(lines) - QUOTED_LINES
    rest = f", with {more} more lines" if more > 0 else ""
    return f"This came back from {name}{rest}:\n\n{fenced(quoted)}"


def _shown(call: Object) -> str:
    """A call in a few words: the command, or the tool and its file."""
    function = as_object(call.get("function"))
    try:
        args = as_object(parsed(as_text(function.get("arguments"))))
    except ValueError:
        args = NO_FIELDS
    tool_and_file = f"{as_text(function.get('name'))} {as_text(args.get('path'))}".strip()
    return as_text(args.get("command")) or tool_and_file or "the tool"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]


def code(text: str) -> str:
    """One line of text as inline code, whatever backticks it holds."""
    line = " ".join(text.split())
    shown = line if len(line) <= 80 else f"{line[:79]}…"
    ticks = "`" * (_longest_ticks(shown) + 1)
    pad = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def fenced(text: str) -> str:
    """Text in a code fence that no backticks in it can close."""
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
