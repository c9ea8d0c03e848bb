"""What a Responses server wants back with its own answer: its items as they came, in their order, kept beside the row."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec
from msgspec import Struct

from agent.providers.base import EXTRAS
from agent.providers.responses_items import CALL_KINDS, PARAGRAPH, Item, texts
from agent.providers.wire_json import Object, as_object, as_text, whole_characters
from session.models import Route, ToolCall

WireItem = dict[str, object]

_SAID_BY_CALLS = frozenset({"type", "id", "status", "call_id", "name", "arguments"})


class Replay(Struct, frozen=True):
    """The items of one answer. They are good for the provider and the model that made them, and for no other."""

    provider: str
    model: str
    items: list[WireItem]


class _Extras(Struct, frozen=True):
    """As `Message.extras`."""

    responses: Replay


class Thoughts(Enum):
    """Which of its own thoughts a server takes back."""

    ALL = "all"
    SEALED = "sealed"  # those it encrypted: a server that stores nothing knows no others
    NONE = "none"

    def takes(self, item: Object) -> bool:
        return self is Thoughts.ALL or (self is Thoughts.SEALED and bool(item.get("encrypted_content")))


def kept(route: Route, items: Sequence[tuple[Item, ToolCall | None]]) -> str:
    """The items, each call under the id that it got here; "" where the row itself says all there is."""
    wire = [_kept(item, call) for item, call in items]
    if _is_plain(wire):
        return ""
    extras = _Extras(Replay(route.provider, route.model, wire))
    # Lone halves of surrogate pairs, which JSON may escape, can't be stored.
    return whole_characters(msgspec.json.encode(extras).decode("utf-8", "surrogatepass"))


def replayed(message: Object, calls: Sequence[Object], route: Route, thoughts: Thoughts) -> list[WireItem] | None:
    """The items of an answer as its maker takes them back; None where they are another's, or say not what the row says.

    The row is the truth: its `calls` stand with the ids and the arguments that it has. A thought goes only together with
    what it led to (B03).
    """
    replay = _decoded(as_text(message.get(EXTRAS)))
    if replay is None or (replay.provider, replay.model) != (route.provider, route.model):
        return None
    if sum(map(is_call, replay.items)) != len(calls) or _said(replay.items) != as_text(message.get("content")):
        return None
    if not all(thoughts.takes(item) for item in replay.items if _is_thought(item)):
        return None  # by its id the server knows that an item came with a thought, and would ask for it
    in_order = iter(calls)
    items = [_call(item, next(in_order)) if is_call(item) else item for item in replay.items]
    return _without_last_thoughts(items)


def _without_last_thoughts(items: list[WireItem]) -> list[WireItem]:
    while items and _is_thought(items[-1]):
        items = items[:-1]
    return items


def _said(items: Sequence[Object]) -> str:
    """What the messages among the items say to the person, as a row has it."""
    messages = [
        item.get("content") for item in items if item.get("type") == "message" and item.get("phase") != "analysis"
    ]
    words = [texts(content, "output_text", "text") for content in messages]
    return PARAGRAPH.join(filter(None, words)) or "".join(texts(content, "refusal") for content in messages)


def _kept(item: Item, call: ToolCall | None) -> WireItem:
    fields = dict(item.fields)
    if item.kind == "reasoning":
        fields.setdefault("summary", [])  # may be empty, but not missing (B07)
    if call is not None:
        fields["call_id"] = call.id
    if not item.is_done and "status" in fields:  # the whole response was completed instead
        fields["status"] = "completed"
    return fields


def _is_plain(items: Sequence[Object]) -> bool:
    """At most one message, then calls: nothing that a row can't say."""
    calls = items[1:] if items and items[0].get("type") == "message" else items
    has_phase = any(item.get("phase") for item in items)
    return not has_phase and all(
        call.get("type") == "function_call" and _SAID_BY_CALLS.issuperset(call) for call in calls
    )


def _decoded(extras: str) -> Replay | None:
    try:
        return msgspec.json.decode(extras, type=_Extras).responses
    except (msgspec.DecodeError, RecursionError):  # none, another protocol's, or another program's
        return None


def _is_thought(item: Object) -> bool:
    return item.get("type") == "reasoning"


def is_call(item: Object) -> bool:
    return item.get("type") in CALL_KINDS


def _call(item: WireItem, call: Object) -> WireItem:
    function = as_object(call.get("function"))
    said: WireItem = {"call_id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")}
    # The result of a built-in tool goes back like that of any other, and so must its call.
    return item | said if item.get("type") == "function_call" else {"type": "function_call"} | said
