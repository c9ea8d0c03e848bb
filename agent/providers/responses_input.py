"""A chat-shaped conversation as the `instructions`, `input` and `tools` of a Responses request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from agent.providers.responses_items import COMPACTION
from agent.providers.responses_replay import Thoughts, WireItem, is_call, replayed
from agent.providers.wire_json import Object, as_list, as_object, as_text
from session.models import Route

_SYSTEM = frozenset({"system", "developer"})


class Conversation(Struct, frozen=True):
    """What is said to the model. The same messages always give the same bytes: caches of prompts go by them."""

    instructions: str
    input: list[WireItem]
    is_compacted: bool = False  # the server has shortened the beginning, which is left out

    @property
    def has_thoughts(self) -> bool:
        return any(item.get("type") == "reasoning" for item in self.input)


def conversation(messages: Sequence[Object], route: Route, thoughts: Thoughts) -> Conversation:
    """The system prompt apart, then all items in order, each call with its output, or neither (B05, B06).

    What stands before the last compaction is left out: it says all that the server wants to know of it.
    """
    results = {as_text(one.get("tool_call_id")): one.get("content") for one in messages if one.get("role") == "tool"}
    is_headed = bool(messages) and messages[0].get("role") in _SYSTEM
    rest = messages[1:] if is_headed else messages
    items: list[WireItem] = []
    is_compacted = False
    for message in rest:
        said = list(_items(message, results, route, thoughts))
        if since := _since_compaction(said):
            items, said, is_compacted = [], since, True
        items += said
    return Conversation(_text(messages[0].get("content")) if is_headed else "", items, is_compacted)


def _since_compaction(said: list[WireItem]) -> list[WireItem]:
    """The items of a message from its last compaction on, none where it has none. A call before it stays with its output."""
    places = [place for place, item in enumerate(said) if item.get("type") == COMPACTION]
    if not places:
        return []
    is_called_before = any(is_call(item) for item in said[: places[-1]])
    return said if is_called_before else said[places[-1] :]


def function_tools(tools: Sequence[Object]) -> list[WireItem]:
    """Chat-shaped tools as the Responses API names them; others go as they are.

    It would make their schemas strict by itself, where Chat Completions does not.
    """
    return [_tool(tool) for tool in tools]


def _tool(tool: Object) -> WireItem:
    function = as_object(tool.get("function"))
    return {"type": "function", **function, "strict": function.get("strict", False)} if function else dict(tool)


def _items(message: Object, results: dict[str, object], route: Route, thoughts: Thoughts) -> Iterator[WireItem]:
    match message.get("role"):
        case "tool":
            return  # stands behind its call
        case "assistant":
            calls = [call for call in map(as_object, as_list(message.get("tool_calls"))) if call.get("id") in results]
            own = replayed(message, calls, route, thoughts)
            yield from _answer(message, calls) if own is None else own
            for call in calls:
                call_id = as_text(call.get("id"))
                yield {"type": "function_call_output", "call_id": call_id, "output": _content(results[call_id])}
        case role:
            yield {"type": "message", "role": role, "content": _content(message.get("content"))}


def _answer(message: Object, calls: Sequence[Object]) -> Iterator[WireItem]:
    if text := _text(message.get("content")):
        yield {"type": "message", "role": "assistant", "content": text}
    for call in calls:
        function = as_object(call.get("function"))
        name, arguments = function.get("name"), function.get("arguments")
        yield {"type": "function_call", "call_id": call.get("id"), "name": name, "arguments": arguments}


def _content(content: object) -> object:
    """Text as it is, parts in this protocol's words."""
    parts = as_list(content)
    return [_part(as_object(part)) for part in parts] if parts else as_text(content)


def _part(part: Object) -> WireItem:
    match part.get("type"):
        case "text":
            return {"type": "input_text", "text": part.get("text")}
        case "image_url":
            image = as_object(part.get("image_url"))
            return {"type": "input_image", "detail": image.get("detail", "auto"), "image_url": image.get("url")}
        case "file":
            return {"type": "input_file", **as_object(part.get("file"))}
        case _:
            return dict(part)


def _text(content: object) -> str:
    """Content as one text: a string, or the texts among its parts."""
    return as_text(content) or "".join(as_text(as_object(part).get("text")) for part in as_list(content))
