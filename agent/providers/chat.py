"""The Chat Completions provider: one request, its stream read by our own reader, one reply or one error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from agent.providers import errors
from agent.providers.base import Delta, ModelRequest, ProviderError, Reply
from agent.providers.body import Body, Shape
from agent.providers.errors import Asked
from agent.providers.http import KEYLESS, Connection, Endpoint, Timeouts, failures
from agent.providers.sdk_bypass import stream_arguments
from agent.providers.wire_json import Object, as_list, as_object, as_text

if TYPE_CHECKING:
    from openai import AsyncAPIResponse, AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

    Response = AsyncAPIResponse[AsyncStream[ChatCompletionChunk]]

REUSE_WAIT_S = 0.05  # after [DONE]: long enough to keep the connection for the next request, too short to be felt


class ChatProvider:
    """Speaks Chat Completions to one endpoint. The key goes to that endpoint and nowhere else."""

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._endpoint = Endpoint(base_url, api_key.strip() or KEYLESS, dict(headers or {}))
        self._timeouts = timeouts or Timeouts()
        self._connection = Connection(self._endpoint, self._timeouts)

    async def warm(self) -> None:
        """Pays for imports and the TLS context now, in a thread. A failure shows at the first request."""
        with suppress(ImportError, ValueError):
            await self._connection.client()

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        """Yields parts as they come, then the reply; raises ProviderError. Cancelling closes the connection."""
        if request.route.base_url != self._endpoint.base_url:
            raise ValueError("a provider's key must not go to the base_url of another route")
        body = Body(_tool_names(request.tools))
        client = await self._client(request)
        is_open = False
        try:
            create = client.chat.completions.with_streaming_response.create
            async with (
                create(**stream_arguments(request)) as response,
                aclosing(self._pieces(response, body)) as pieces,
            ):
                is_open = True
                async for piece in pieces:
                    for part in body.feed(piece):
                        yield part
        except failures() as failure:
            if not (body.is_over or body.has_finish):
                # `from None`: the SDK's own message repeats the server's words, perhaps with the key in them.
                raise errors.from_failure(self._asked(request, body), failure, is_open) from None
        for part in body.end():
            yield part
        yield self._reply(request, body)

    async def _client(self, request: ModelRequest) -> AsyncOpenAI:
        asked = Asked(self._endpoint, request.route, self._timeouts)
        if not self._endpoint.host:
            raise errors.no_address(asked)
        if not _fits_a_header(self._endpoint.api_key):
            raise errors.bad_key(asked)
        try:
            return await self._connection.client()
        except (ImportError, ValueError) as failure:
            raise errors.bad_proxy(asked, failure) from None

    async def _pieces(self, response: Response, body: Body) -> AsyncGenerator[bytes, None]:
        """The body's bytes as they come. Once the answer is whole only a little more is waited for."""
        source = response.iter_bytes()
        until: float | None = None
        while not body.is_over:
            if until is None and body.has_finish:
                until = asyncio.get_running_loop().time() + self._timeouts.drain_s
            try:
                async with asyncio.timeout_at(until):
                    piece = await anext(source, None)
            except TimeoutError:
                return
            if piece is None:
                return
            yield piece
        if body.is_done:
            with suppress(TimeoutError):
                async with asyncio.timeout(REUSE_WAIT_S):
                    async for _ in source:
                        pass

    def _reply(self, request: ModelRequest, body: Body) -> Reply:
        asked = self._asked(request, body)
        if error := _failed(asked, body):
            raise error
        return body.answer.reply(_used_ids(request.messages))

    def _asked(self, request: ModelRequest, body: Body) -> Asked:
        return Asked(self._endpoint, request.route, self._timeouts, body.answer.partial, body.answer.usage)


def _failed(asked: Asked, body: Body) -> ProviderError | None:
    """What keeps a body that has ended from being an answer."""
    if body.fault is not None:
        return errors.from_fault(asked, body.fault)
    if body.shape is Shape.PAGE:
        return errors.bad_endpoint(asked, "it answered with a web page")
    if body.is_broken:
        return errors.cut(asked, "it sent something that is not JSON")
    if body.answer.has_failed:
        return errors.cut(asked, "the server gave up")
    if body.answer.has_finish or (body.is_done and body.answer):
        return None
    if body.shape is Shape.JSON:
        return errors.bad_endpoint(asked, "it answered with JSON that is no completion")
    if body.is_done or not body.has_chunks:
        return errors.empty(asked)
    return errors.cut(asked, "the stream ended in the middle")


def _fits_a_header(key: str) -> bool:
    return key.isascii() and key.isprintable()


def _tool_names(tools: list[dict[str, object]]) -> frozenset[str]:
    return frozenset(as_text(as_object(tool.get("function")).get("name")) for tool in tools)


def _used_ids(messages: list[dict[str, object]]) -> frozenset[str]:
    """The ids of all calls in the conversation: some servers count them from 0 in every answer."""
    calls: list[Object] = [as_object(call) for message in messages for call in as_list(message.get("tool_calls"))]
    return frozenset(as_text(call.get("id")) for call in calls)
