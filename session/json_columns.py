"""The values kept as JSON in one column: calls, usage, route. What cannot be read raises UnreadableColumn."""

from __future__ import annotations

import json
from typing import cast

from msgspec.structs import asdict

from session.models import ApiMode, Route, ToolCall, Usage


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


def encode_calls(calls: tuple[ToolCall, ...]) -> str:
    return encode([asdict(call) for call in calls]) if calls else ""


def decode_calls(column: str) -> tuple[ToolCall, ...]:
    if not column:
        return ()
    value = decode(column)
    if not isinstance(value, list):
        raise UnreadableColumn("calls are no list")
    return tuple(map(decode_call, cast("list[object]", value)))


def decode_call(value: object) -> ToolCall:
    match value:
        case {"id": str(id_), "name": str(name), "arguments": str(arguments)}:
            return ToolCall(id_, name, arguments)
        case _:
            raise UnreadableColumn("a call lacks a field")


def encode_usage(usage: Usage | None) -> str:
    return encode(asdict(usage)) if usage else ""


def decode_usage(column: str) -> Usage | None:
    if not column:
        return None
    match decode(column):
        case {
            "input": int(input_),
            "output": int(output),
            "cache_read": int(cache_read),
            "cache_write": int(cache_write),
            "reasoning": int(reasoning),
        }:
            return Usage(input_, output, cache_read, cache_write, reasoning)
        case _:
            raise UnreadableColumn("usage lacks a field")


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
