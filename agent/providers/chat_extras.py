"""What a Chat Completions server wants back with its own answer: kept as JSON beside the row, never read by us."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct, field

from agent.providers.growing_text import GrowingText
from agent.providers.wire_json import Object, as_list, as_object, as_text, compact, whole_characters

THINK_TAGS = "<think>"  # the name of reasoning that came within the content


class ChatExtras(Struct, frozen=True, omit_defaults=True):
    """`provider` is whose they are: no other server gets them. `calls` holds what came with a call, by its place.

    `reasoning_field` is the name under which the text of the row's reasoning came.
    """

    provider: str = ""
    reasoning_field: str = ""
    reasoning_details: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    calls: Mapping[str, object] = field(default_factory=dict[str, object])

    def __bool__(self) -> bool:
        return bool(self.reasoning_field or self.reasoning_details or self.calls)


class _Extras(Struct, frozen=True):
    """As `Message.extras`."""

    chat: ChatExtras


NO_EXTRAS = ChatExtras()


def encoded(extras: ChatExtras) -> str:
    """As `Message.extras`; "" when there is nothing to give back."""
    # Not msgspec's own encoder, which raises for half a surrogate pair; JSON may escape one, and it can't be stored.
    return whole_characters(compact(msgspec.to_builtins(_Extras(extras)))) if extras else ""


def decoded(extras: str) -> ChatExtras:
    """What a row holds of ours; another program's extras, or another protocol's, hold none."""
    if not extras:
        return NO_EXTRAS
    try:
        return msgspec.json.decode(extras, type=_Extras).chat
    except (msgspec.DecodeError, RecursionError):
        return NO_EXTRAS


class Details:
    """The `reasoning_details` of a stream. Pieces of one detail become one: their text joined, of all else the last."""

    def __init__(self) -> None:
        self._details: list[dict[str, object]] = []
        self._text = GrowingText()  # of the last one

    def add(self, value: object) -> None:
        for item in as_list(value):
            if detail := as_object(item):
                self._add(detail)

    def joined(self) -> list[dict[str, object]]:
        self._close()
        return self._details

    def _add(self, detail: Object) -> None:
        if not (self._details and _goes_on(self._details[-1], detail)):
            self._close()
            self._details.append({})
        held = self._details[-1]
        held |= {name: value for name, value in detail.items() if value or name not in held}
        self._text.add(as_text(detail.get(_text_key(held))))

    def _close(self) -> None:
        if self._details and (text := self._text.text):
            self._details[-1][_text_key(self._details[-1])] = text
        self._text = GrowingText()


def _text_key(detail: Object) -> str:
    return "summary" if detail.get("type") == "reasoning.summary" else "text"


def _goes_on(held: Object, detail: Object) -> bool:
    """Whether a detail continues the one before it: of its kind and place, and that one was not signed yet."""
    key = _text_key(held)
    is_text = isinstance(held.get(key), str) and isinstance(detail.get(key, ""), str)
    is_same = all(held.get(name) == detail.get(name) for name in ("type", "index"))
    return is_text and is_same and not held.get("signature") and held.get("id") == detail.get("id", held.get("id"))
