"""Tolerant readings of JSON that a server sent: what has the wrong type reads as absent, never as a failure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

import msgspec

Object = Mapping[str, object]
NO_FIELDS: Object = {}
_LENIENT = json.JSONDecoder(strict=False)


def parsed(text: str | bytes) -> object:
    """The value of a JSON text. Raises ValueError for anything else, also for nesting that no parser survives."""
    with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
        return cast(object, msgspec.json.decode(text))
    try:  # slower, and takes what strict JSON may not hold: control characters, halves of surrogate pairs, NaN
        return cast(object, _LENIENT.decode(text if isinstance(text, str) else text.decode(json.detect_encoding(text))))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def as_object(value: object) -> Object:
    return cast(Object, value) if isinstance(value, dict) else NO_FIELDS


def as_list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """A number of tokens: whole and not negative. True is not 1 here."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return 0
    return int(value)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class TextJoiner:
    """Joins text whose surrogate pairs may be split over chunks, so that every part is legal UTF-8."""

    def __init__(self) -> None:
        self._high = ""

    def join(self, text: str) -> str:
        """This text, legal; half of a pair at its end waits for the other half."""
        if text.isascii() and not self._high:
            return text
        text = self._high + text
        self._high = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole_characters(text.removesuffix(self._high) if self._high else text)


def whole_characters(text: str) -> str:
    """The text with its surrogate pairs joined and lone halves replaced: JSON may escape what UTF-8 cannot say."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
