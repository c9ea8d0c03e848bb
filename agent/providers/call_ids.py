"""The ids of calls as another server takes them: the model of one may have made a call that goes back to the next.

Mistral wants nine letters and digits and refuses all else; OpenAI refuses what is longer than 64 characters, in Chat
Completions 40 (even such ids as its own Responses API once gave out); Anthropic takes letters, digits, "_" and "-".
Only the copy that is sent is changed. The same id becomes the same each time, so that calls stay with their results and
a prompt cache with its beginning.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Sequence

from agent.providers.compatibility import CallIds
from agent.providers.wire_json import Object, as_list, as_object, as_text

_LETTERS = string.ascii_letters + string.digits
_SHORT = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)
_NINE = re.compile(r"[A-Za-z0-9]{9}", re.ASCII)

Message = dict[str, object]


def with_call_ids(messages: Sequence[Message], form: CallIds) -> list[Message]:
    """The messages with the ids of all calls and results in this form; one that has it already is left as it is."""
    if form is CallIds.ANY:
        return list(messages)
    return [_formed(message, form) for message in messages]


def _formed(message: Message, form: CallIds) -> Message:
    if calls := as_list(message.get("tool_calls")):
        return {**message, "tool_calls": [_with_id(as_object(call), "id", form) for call in calls]}
    return _with_id(message, "tool_call_id", form) if "tool_call_id" in message else message


def _with_id(holder: Object, key: str, form: CallIds) -> Message:
    return {**holder, key: formed_id(as_text(holder.get(key)), form)}


def formed_id(call_id: str, form: CallIds) -> str:
    """An id in this form. Two of one conversation never meet: 62 to the power of 9 are enough."""
    match form:
        case CallIds.ANY:
            return call_id
        case CallIds.SHORT:
            return call_id if _SHORT.fullmatch(call_id) else f"call_{_letters(call_id, 24)}"
        case CallIds.NINE:
            return call_id if _NINE.fullmatch(call_id) else _letters(call_id, 9)


def _letters(text: str, count: int) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    letters: list[str] = []
    for _ in range(count):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)
