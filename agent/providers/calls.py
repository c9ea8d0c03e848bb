"""Tool calls put together from their fragments, whichever way a server numbers them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import uuid4

from agent.providers.wire_json import Object, as_list, as_object, as_text, compact, parsed, whole_characters
from session.models import ToolCall


@dataclass(slots=True)
class _Slot:
    """One call while its fragments come in."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        """Its arguments are an object already: more of them can only belong to another call."""
        if not self.arguments.rstrip().endswith("}"):
            return False
        try:
            return isinstance(parsed(self.arguments), dict)
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
            if not function:  # an id or an index alone starts no call (A11)
                continue
            index = fragment.get("index")
            call_id = fragment.get("id")
            self._add(
                index if isinstance(index, int) else place,
                str(call_id) if isinstance(call_id, str | int) else "",
                function,
            )

    def calls(self, taken: Collection[str], is_cut: bool) -> tuple[ToolCall, ...]:
        """The calls in order, with ids that none of `taken` nor another of these calls has (A10).

        No arguments at all mean none are needed, unless the answer was cut before they came.
        """
        ids = set(taken)
        calls: list[ToolCall] = []
        for slot in self._slots:
            if not slot.name:
                continue
            call_id = slot.id if slot.id and slot.id not in ids else f"call_{uuid4().hex[:24]}"
            ids.add(call_id)
            arguments = slot.arguments if slot.arguments.strip() or is_cut else "{}"
            calls.append(ToolCall(call_id, whole_characters(slot.name), whole_characters(arguments)))
        return tuple(calls)

    def _add(self, index: int, call_id: str, function: Object) -> None:
        name, arguments = as_text(function.get("name")), function.get("arguments")
        slot = self._slot(index, call_id, starts=bool(name) and bool(arguments))
        slot.id = slot.id or call_id
        slot.name = self._name(slot.name, name)
        if isinstance(arguments, str):
            slot.arguments += arguments
        elif arguments is not None:  # whole, as JSON instead of text of JSON (A12)
            slot.arguments = compact(arguments)

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
