"""The content of an answer that only called tools: null, "" or no key at all. Servers refuse now one, now another (A30)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agent.providers.base import ErrorKind, ProviderError
from agent.providers.compatibility import EmptyContent

Messages = Sequence[dict[str, object]]

_COMPLAINT = re.compile(
    r"\bcontent\b.{0,80}\b(empty|null|nil|none|missing|required|non-?empty|NoneType|string)\b"
    r"|\b(empty|null|nil|none|missing|non-?empty)\b.{0,40}\bcontent\b"
    r"|must not be empty|<nil>",
    re.IGNORECASE | re.DOTALL,
)


def with_content(messages: Messages, form: EmptyContent) -> list[dict[str, object]]:
    """The messages with that content where an answer has no other."""
    return [
        _formed(message, form) if "tool_calls" in message and _is_tool_only(message) else message
        for message in messages
    ]


def other_form(error: ProviderError, messages: Messages, form: EmptyContent) -> EmptyContent | None:
    """What to try in its place when a server refused a request for the content of such an answer, None for another cause."""
    if error.kind is not ErrorKind.FORMAT_ERROR or not _COMPLAINT.search(error.sentence):
        return None
    if not any(_is_tool_only(message) for message in messages):
        return None
    return EmptyContent.NULL if form is EmptyContent.EMPTY else EmptyContent.EMPTY


def _is_tool_only(message: Mapping[str, object]) -> bool:
    return bool(message.get("tool_calls")) and not message.get("content")


def _formed(message: Mapping[str, object], form: EmptyContent) -> dict[str, object]:
    match form:
        case EmptyContent.NULL:
            return {**message, "content": None}
        case EmptyContent.EMPTY:
            return {**message, "content": ""}
        case EmptyContent.OMIT:
            return {name: value for name, value in message.items() if name != "content"}
