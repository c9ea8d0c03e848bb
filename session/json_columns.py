"""The values kept as JSON in one column: calls, usage, route, parts, extras. What cannot be read raises UnreadableColumn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar, cast

from msgspec import DecodeError
from msgspec.json import Decoder
from msgspec.structs import asdict

from session.models import ApiMode, Route, ToolCall, Usage

T = TypeVar("T")

CALLS = Decoder(tuple[ToolCall, ...])
USAGE = Decoder(Usage)


class UnreadableColumn(ValueError):
    """A column does not hold what we would have written."""


def encode(value: object) -> str:
    # Not ensure_ascii: escaped, a lone surrogate would pass the check at the connection and come back as it was.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def decode(column: str) -> object:
    try:
        return cast(object, json.loads(column))
    except (ValueError, RecursionError) as error:
        raise UnreadableColumn(str(error)) from error


def with_texts(value: object, change: Callable[[str], str]) -> object:
    """A JSON value with each text in it changed, names included."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [with_texts(item, change) for item in cast("list[object]", value)]
        case dict():
            return {change(key): with_texts(item, change) for key, item in cast("dict[str, object]", value).items()}
        case _:
            return value


def read(column: str, decoder: Decoder[T]) -> T:
    """As `decode`, for what a conversation holds thousands of."""
    try:
        return decoder.decode(column)
    except (DecodeError, RecursionError) as error:
        raise UnreadableColumn(str(error)) from error


def encode_calls(calls: tuple[ToolCall, ...]) -> str:
    return encode([encoded_call(call) for call in calls]) if calls else ""


def encoded_call(call: ToolCall) -> dict[str, object]:
    record: dict[str, object] = {"id": call.id, "name": call.name, "arguments": call.arguments}
    return {**record, "is_masked": True} if call.is_masked else record


def decode_calls(column: str) -> tuple[ToolCall, ...]:
    return read(column, CALLS) if column else ()


def encode_usage(usage: Usage | None) -> str:
    return encode(asdict(usage)) if usage else ""


def decode_usage(column: str) -> Usage | None:
    return read(column, USAGE) if column else None


def require_parts(column: str) -> str:
    """The column as it is. Raises UnreadableColumn unless it is "" or a list of objects."""
    if column:
        decode_parts(column)
    return column


def decode_parts(column: str) -> list[dict[str, object]]:
    value = decode(column)
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in cast("list[object]", value)):
        raise UnreadableColumn("parts are no list of objects")
    return cast("list[dict[str, object]]", value)


def text_of_parts(column: str) -> str:
    """What the parts say, with nothing between them; "" for parts without text."""
    texts = (part.get("text") for part in decode_parts(column))
    return "".join(text for text in texts if isinstance(text, str))


def require_extras(column: str) -> str:
    """The column as it is. Raises UnreadableColumn unless it is "" or an object."""
    if column and not isinstance(decode(column), dict):
        raise UnreadableColumn("extras are no object")
    return column


def encode_route(route: Route | None) -> str:
    return encode(asdict(route)) if route else ""


def decode_route(column: str) -> Route | None:
    if not column:
        return None
    match decode(column):
        case {
            "provider": str(provider),
            "model": str(model),
            "base_url": str(base_url),
            "api_mode": str(api_mode),
            "key_ref": str(key_ref),
            "window": (int() | None) as window,
        }:
            return Route(provider, model, base_url, known_api_mode(api_mode), key_ref, window)
        case _:
            raise UnreadableColumn("route lacks a field")


def known_api_mode(name: str) -> ApiMode:
    try:
        return ApiMode(name)
    except ValueError as error:
        raise UnreadableColumn(str(error)) from error
