"""Tool calls put together from their fragments, whichever way a server numbers them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import uuid4

from agent.providers.growing_text import GrowingText
from agent.providers.wire_json import Object, as_list, as_object, as_text, compact, parsed, whole_characters
from session.models import ToolCall

MOST_CALLS = 1_000  # finding the one that a fragment belongs to takes as long as there are many


@dataclass(slots=True)
class _Slot:
    """One call while its fragments come in. `extra` is what the server wants back with it, such as a signed thought."""

    index: int
    id: str = ""
    name: str = ""
    arguments: GrowingText = field(default_factory=GrowingText)
    extra: object = None

    @property
    def is_whole(self) -> bool:
        """Its arguments are an object already: more of them can only belong to another call."""
        arguments = self.arguments.text.rstrip()
        if not arguments.endswith("}"):
            return False
        try:
            return isinstance(parsed(arguments), dict)
        except ValueError:
            return False


class CallSlots:
    """Collects fragments of calls. `tools` are the names that the model was offered."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = tools
        self._slots: list[_Slot] = []

    def __bool__(self) -> bool:
        return any(slot.name for slot in self._slots)

    def read(self, fragments: object) -> None:
        """Takes the `tool_calls` of a delta or a message. Without an index the place in the list counts (A04)."""
        for place, item in enumerate(as_list(fragments)):
            fragment = as_object(item)
            function = as_object(fragment.get("function"))
            index, call_id = fragment.get("index"), fragment.get("id")
            place = index if isinstance(index, int) else place
            slot = self._last(place)
            if function:  # an id or an index alone starts no call (A11)
                slot = self._add(place, str(call_id) if isinstance(call_id, str | int) else "", function)
            if slot is not None:
                slot.extra = fragment.get("extra_content") or slot.extra

    def calls(self, taken: Collection[str], is_cut: bool) -> tuple[ToolCall, ...]:
        """The calls in order, with ids that none of `taken` nor another of these calls has (A10).

        No arguments at all mean none are needed, unless the answer was cut before they came.
        """
        ids = set(taken)
        calls: list[ToolCall] = []
        for slot in self._named():
            call_id = slot.id if slot.id and slot.id not in ids else f"call_{uuid4().hex[:24]}"
            ids.add(call_id)
            arguments = slot.arguments.text
            if not arguments.strip() and not is_cut:
                arguments = "{}"
            calls.append(ToolCall(call_id, whole_characters(slot.name), whole_characters(arguments)))
        return tuple(calls)

    def extras(self) -> dict[str, object]:
        """What came beside the calls, by the place of each among `calls`."""
        return {str(place): slot.extra for place, slot in enumerate(self._named()) if slot.extra is not None}

    def _named(self) -> list[_Slot]:
        return [slot for slot in self._slots if slot.name]

    def _add(self, index: int, call_id: str, function: Object) -> _Slot:
        name, arguments = as_text(function.get("name")), function.get("arguments")
        slot = self._slot(index, call_id, starts=bool(name) and bool(arguments))
        slot.id = slot.id or call_id
        slot.name = self._name(slot.name, name)
        if isinstance(arguments, str):
            slot.arguments.add(arguments)
        elif arguments is not None:  # whole, as JSON instead of text of JSON (A12)
            slot.arguments.replace(compact(arguments))
        return slot

    def _last(self, index: int) -> _Slot | None:
        return next((slot for slot in reversed(self._slots) if slot.index == index), None)

    def _slot(self, index: int, call_id: str, starts: bool) -> _Slot:
        """The slot a fragment belongs to: servers reuse an index for another call, told by its id (A05)."""
        held = [slot for slot in self._slots if slot.index == index]
        if not held:
            return self._open(index)
        if call_id and held[-1].id and call_id != held[-1].id:
            return next((slot for slot in held if slot.id == call_id), None) or self._open(index)
        if starts and not call_id and held[-1].is_whole:
            return self._open(index)
        return held[-1]

    def _open(self, index: int) -> _Slot:
        if len(self._slots) == MOST_CALLS:
            raise ValueError("more calls in one answer than any model makes")
        slot = _Slot(index)
        self._slots.append(slot)
        return slot

    def _name(self, held: str, fragment: str) -> str:
        """A name may come again whole (A07), grown, or in pieces (A08)."""
        if not fragment or fragment == held:
            return held
        if fragment.startswith(held):
            return fragment
        if held in self._tools and held + fragment not in self._tools:
            return held
        return held + fragment
