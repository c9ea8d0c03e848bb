"""The output items of a Responses stream: which event belongs to which item, and in which order the items stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from agent.providers.growing_text import GrowingText
from agent.providers.wire_json import (
    Object,
    TextJoiner,
    as_list,
    as_object,
    as_text,
    compact,
    whole_characters,
)

# What each kind of call is asked to do. All of them are the client's to run; what the server runs itself is not here.
CALL_KINDS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "apply_patch_call": "operation",
    "shell_call": "action",
    "local_shell_call": "action",
    "computer_call": "action",
}
COMPACTION = "compaction"  # the kind of item that stands for all that was said before it, sealed
PARAGRAPH = "\n\n"
MOST_ITEMS = 1_000  # finding the one that an event belongs to takes as long as there are many


class Spoken:
    """A text that grows. Each of its parts is heard once: by its deltas, or whole when it is done."""

    def __init__(self) -> None:
        self._text = GrowingText()
        self._joiner = TextJoiner()
        self._heard: set[object] = set()

    def __bool__(self) -> bool:
        return bool(self._text)

    @property
    def text(self) -> str:
        return self._text.text

    def add(self, text: str, part: object, is_whole: bool) -> str:
        """The text as it may be shown now."""
        if is_whole and part in self._heard:
            return ""
        self._heard.add(part)
        legal = self._joiner.join(text)
        self._text.add(legal)
        return legal

    def complete(self, text: str) -> str:
        """The rest of a text that is known to its end: from here on it counts, also where other words were spoken."""
        whole, spoken = whole_characters(text), self.text
        if not whole or whole == spoken:
            return ""
        self._text.replace(whole)
        return whole.removeprefix(spoken) if whole.startswith(spoken) else ""


@dataclass(slots=True, eq=False)
class Item:
    """One item while its events come in. `place` is when it was first heard of, `index` the server's own number."""

    kind: str
    place: int
    index: int | None = None
    ids: set[str] = field(default_factory=set[str])
    fields: Object = field(default_factory=dict[str, object])
    is_announced: bool = False
    is_done: bool = False
    text: Spoken = field(default_factory=Spoken)
    refusal: Spoken = field(default_factory=Spoken)
    thought: Spoken = field(default_factory=Spoken)
    is_summary: bool = False  # its thinking comes as summaries, counted by the server
    arguments: GrowingText = field(default_factory=GrowingText)
    _thought_as: str = ""  # the kind of event it came by first: the same thought may come by two, and counts once
    _summary: int | None = None

    @property
    def call_id(self) -> str:
        call_id = self.fields.get("call_id")
        return str(call_id) if isinstance(call_id, str | int) else ""

    @property
    def name(self) -> str:
        """What is called; the built-in tools have no name but their kind."""
        return as_text(self.fields.get("name")) or ("" if self.kind == "function_call" else self.kind)

    def may_run(self, is_completed: bool) -> bool:
        """Done itself, or left open by a response that is completed; not one that was cut before its arguments came."""
        if self.kind not in CALL_KINDS or not self.name:
            return False
        if self.fields.get("status") == "incomplete" and not self.arguments.text.strip():
            return False
        return self.is_done or (is_completed and self.kind == "function_call")

    @property
    def is_hidden(self) -> bool:
        """A message of the model to itself."""
        return self.fields.get("phase") == "analysis"

    def describe(self, fields: Object, index: int | None) -> None:
        """Takes what the server says of the item; what it leaves out stays."""
        known = {key: value for key, value in fields.items() if value is not None or key not in self.fields}
        self.fields = {**self.fields, **known}
        self.index = self.index if index is None else index
        if name := as_text(fields.get("id")):
            self.ids.add(name)
        if arguments := _arguments(self.kind, fields):
            self.arguments.replace(arguments)

    def think(self, text: str, what: str, summary: int | None, part: int | None, is_whole: bool) -> str:
        """More of its thinking, by events of the kind `what`; the next of its summaries begins a new paragraph."""
        self._thought_as = self._thought_as or what
        if not text or self._thought_as != what:
            return ""
        is_next = bool(self.thought) and summary is not None and summary != self._summary
        self._summary, self.is_summary = summary, summary is not None
        return self.thought.add(PARAGRAPH + text if is_next else text, (summary, part), is_whole)


class Items:
    """All items of one answer. An event finds its item by call id, item id or output index, whichever still holds."""

    def __init__(self) -> None:
        self._items: list[Item] = []

    def __bool__(self) -> bool:
        return bool(self._items)

    def __iter__(self) -> Iterator[Item]:
        """In the order of the answer: by output index where all have one, else as they were first heard of."""
        if all(item.index is not None for item in self._items):
            return iter(sorted(self._items, key=lambda item: (item.index or 0, item.place)))
        return iter(self._items)

    def announced(self, fields: Object, index: int | None) -> Item:
        kind = _kind(fields)
        item = self._with_call_id(kind, fields) or self._with_id(kind, as_text(fields.get("id")), index)
        if item is None or item.is_done or _is_another(item, fields):
            item = next((one for one in self._at(kind, index) if not one.is_announced), None) or self._open(kind, index)
        item.is_announced = True
        item.describe(fields, index)
        return item

    def done(self, fields: Object, index: int | None) -> Item:
        """Its call id tells it alone where it has one: Copilot changes the item ids, others reuse the index (B09)."""
        kind = _kind(fields)
        item = self._with_call_id(kind, fields)
        if item is None:
            found = self._with_id(kind, as_text(fields.get("id")), index) or self._open_one(kind, index)
            item = found if found and not _is_another(found, fields) else self._open(kind, index)
        item.is_announced = item.is_done = True
        item.describe(fields, index)
        return item

    def told_of(self, kind: str, event: Object) -> Item:
        """The item that a delta belongs to; one that nobody announced is opened."""
        index, name = index_of(event), as_text(event.get("item_id"))
        item = self._with_id(kind, name, index) or self._open_one(kind, index) or self._open(kind, index)
        if name and not item.ids:
            item.ids.add(name)
        return item

    def was_done(self, kind: str, event: Object) -> bool:
        """The event repeats what a finished item has said already."""
        index = index_of(event)
        known = self._with_id(kind, as_text(event.get("item_id")), index)
        if known is not None:
            return known.is_done
        return self._open_one(kind, index) is None and any(item.is_done for item in self._at(kind, index))

    def _with_call_id(self, kind: str, fields: Object) -> Item | None:
        call_id = fields.get("call_id")
        if kind not in CALL_KINDS or not call_id:
            return None
        return next((item for item in self._items if item.kind == kind and item.call_id == str(call_id)), None)

    def _with_id(self, kind: str, name: str, index: int | None) -> Item | None:
        """The latest that has this id, rather one with the same index."""
        if not name:
            return None
        known = [item for item in self._items if item.kind == kind and name in item.ids]
        return next((item for item in reversed(known) if item.index == index), known[-1] if known else None)

    def _open_one(self, kind: str, index: int | None) -> Item | None:
        """The latest of this kind at the index that is not done; without an index, the latest at all."""
        return next((item for item in reversed(self._at(kind, index)) if not item.is_done), None)

    def _at(self, kind: str, index: int | None) -> list[Item]:
        return [item for item in self._items if item.kind == kind and index in (None, item.index)]

    def _open(self, kind: str, index: int | None) -> Item:
        if len(self._items) == MOST_ITEMS:
            raise ValueError("more items in one answer than any model makes")
        item = Item(kind, len(self._items), index)
        self._items.append(item)
        return item


def index_of(event: Object, name: str = "output_index") -> int | None:
    index = event.get(name)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def texts(parts: object, *kinds: str) -> str:
    """The text of a message's parts of these types; a message may also be one string."""
    if isinstance(parts, str):
        return parts if "output_text" in kinds else ""
    found = (as_object(part) for part in as_list(parts))
    return "".join(
        as_text(part.get("refusal")) or as_text(part.get("text")) for part in found if part.get("type") in kinds
    )


def _kind(fields: Object) -> str:
    kind = as_text(fields.get("type"))
    return "function_call" if kind.startswith("function_call") and not kind.endswith("output") else kind


def _is_another(item: Item, fields: Object) -> bool:
    call_id = fields.get("call_id")
    return bool(call_id and item.call_id and item.call_id != str(call_id))


def _arguments(kind: str, fields: Object) -> str:
    """What a call is to do, "" where this does not say it or is no call."""
    value = fields.get(CALL_KINDS.get(kind, ""))
    if kind == "custom_tool_call":
        return compact({"input": value}) if value else ""
    return value if isinstance(value, str) else compact(value) if value is not None else ""
