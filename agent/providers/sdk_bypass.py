"""Sends a request through the SDK's client past its typed walk, with the same bytes on the wire.

The SDK checks every message against its unions on the event loop: 88 ms for 400 messages, 340 for 1,600; and encodes and
merges the body slowly. So its `create` is left out: the body is made here as `create` would make it, and the client that
knows address, key and errors posts it. `agent.sdk_transform` turns this off.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, cast

import msgspec

from agent.providers.base import ModelRequest
from agent.providers.call_ids import with_call_ids
from agent.providers.wire_json import as_object

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from openai import AsyncOpenAI, Omit
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionStreamOptionsParam,
        ChatCompletionToolUnionParam,
    )


A = TypeVar("A", bound=Mapping[str, object])

_BULK = ("messages", "input", "tools")
_encode = msgspec.json.Encoder().encode


class Incoming(Protocol):
    """An answer that has begun."""

    def aiter_bytes(self) -> AsyncIterator[bytes]: ...


class _Wrapped(Protocol):
    """The same in the SDK's words."""

    @property
    def http_response(self) -> Incoming: ...


class StreamArguments(TypedDict):
    """The arguments of the SDK's `create` for one streamed answer, in the order in which its body has them.

    The big fields are in `extra_body`, whose keys take the places of the empty ones: a prompt cache may go by bytes.
    """

    model: str
    stream: Literal[True]
    messages: Iterable[ChatCompletionMessageParam]
    parallel_tool_calls: bool | Omit
    stream_options: ChatCompletionStreamOptionsParam | Omit
    tools: Iterable[ChatCompletionToolUnionParam] | Omit
    extra_body: dict[str, object]


def stream_arguments(request: ModelRequest) -> StreamArguments:
    """The request as the SDK takes it; what `request.extra_body` says wins over anything of ours."""
    from openai import omit

    switches = request.compatibility
    is_one_by_one = bool(request.tools) and not switches.parallel_calls
    return {
        "model": request.route.model,
        "stream": True,
        "messages": [],
        "parallel_tool_calls": False if is_one_by_one else omit,
        "stream_options": {"include_usage": True} if switches.usage_option else omit,
        "tools": [] if request.tools else omit,
        "extra_body": _extra_body(request),
    }


@asynccontextmanager
async def posted(client: AsyncOpenAI, path: str, arguments: Mapping[str, object]) -> AsyncGenerator[Incoming, None]:
    """The answer to a request with these arguments of `create`. Raises what `create` raises."""
    import httpx2

    response = await client.post(
        path,
        cast_to=httpx2.Response,
        content=body_of(arguments),
        stream=True,
        stream_cls=None,
        # The SDK's own defaults, which it copies deeply for each request that does not give them.
        options={"headers": {}, "params": {}, "max_retries": 0, "timeout": None, "security": {"bearer_auth": True}},
    )
    try:
        yield response
    finally:
        await response.aclose()


@asynccontextmanager
async def unwrapped(opening: AbstractAsyncContextManager[_Wrapped]) -> AsyncGenerator[Incoming, None]:
    """The same of the SDK's own `create`, with the bytes of its answer as they come."""
    async with opening as answer:
        yield answer.http_response


def through_the_sdk(arguments: A) -> A:
    """The same arguments with the big fields in their typed places, where the SDK walks them: what the bypass stands for."""
    body = dict(as_object(arguments["extra_body"]))
    bulk = {name: body.pop(name) for name in _BULK if arguments.get(name) == [] and name in body}
    return cast(A, {**arguments, **bulk, "extra_body": body})


def body_of(arguments: Mapping[str, object]) -> bytes:
    """The bytes that `create` makes of its arguments, where these come in its own order."""
    from openai import omit

    own = {name: value for name, value in arguments.items() if value is not omit and name != "extra_body"}
    body = {**own, **as_object(arguments["extra_body"])}
    with suppress(TypeError, RecursionError):  # a key that is no text
        if _is_simple(body):
            return _encode(body)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _is_simple(body: dict[str, object]) -> bool:
    """Made of nothing that two encoders write differently, as they do 1e16."""
    waiting: list[Iterable[object]] = [body.values()]
    for items in waiting:  # which grows meanwhile
        for item in items:
            kind = type(item)
            if kind is str or item is None or kind is bool or kind is int:
                continue
            if kind is dict:
                waiting.append(cast("dict[str, object]", item).values())
            elif kind is list:
                waiting.append(cast("list[object]", item))
            else:
                return False
    return True


def _extra_body(request: ModelRequest) -> dict[str, object]:
    body: dict[str, object] = {"messages": with_call_ids(request.messages, request.compatibility.call_ids)}
    if request.tools:
        body["tools"] = request.tools
    body |= request.extra_body
    options = as_object(body.get("stream_options"))
    # The SDK merges one level deep: alone, these would drop include_usage.
    if options and request.compatibility.usage_option:
        body["stream_options"] = {"include_usage": True, **options}
    return body
