"""One streamed exchange with a server: what is the same whichever protocol it speaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Protocol

from agent.providers import errors
from agent.providers.errors import Asked
from agent.providers.http import Connection
from agent.providers.sdk_bypass import Incoming
from agent.providers.watch import WATCH, Watch

if TYPE_CHECKING:
    from openai import AsyncOpenAI

REUSE_WAIT_S = 0.05  # after the end: long enough to keep the connection for the next request, too short to be felt


class Reading(Protocol):
    """A body while it is read."""

    @property
    def has_events(self) -> bool:
        """Something of the answer came, text or not; keep-alives are none of it."""
        ...

    @property
    def is_over(self) -> bool:
        """Nothing that may still come would count."""
        ...

    @property
    def has_finish(self) -> bool:
        """The answer is whole, though more may come behind it."""
        ...


async def ready_client(connection: Connection, asked: Asked) -> AsyncOpenAI:
    """The client of an endpoint. Raises ProviderError where its address, key or proxy can't be used."""
    if not asked.endpoint.host:
        raise errors.no_address(asked)
    if not (asked.endpoint.api_key.isascii() and asked.endpoint.api_key.isprintable()):
        raise errors.bad_key(asked)
    try:
        return await connection.client()
    except (ImportError, ValueError) as failure:
        raise errors.bad_proxy(asked, failure) from None


async def read(
    opening: AbstractAsyncContextManager[Incoming], reading: Reading, watch: Watch
) -> AsyncGenerator[bytes, None]:
    """The bytes of an answer as they come, from asking on. Raises Overdue where a limit of the watch passes.

    Once the answer is whole only a little more is waited for: nothing behind it takes anything away from it.
    """
    WATCH.set(watch)
    async with AsyncExitStack() as stack:
        response = await watch.wait(stack.enter_async_context(opening))
        watch.is_open = True
        source = aiter(response.aiter_bytes())
        while not (reading.is_over or reading.has_finish):
            piece = await watch.wait(anext(source, None))
            if piece is None:
                return
            watch.heard()
            yield piece
            if reading.has_events:
                watch.accepted()
        async with aclosing(_behind(source, reading, watch.drain_s)) as rest:
            async for piece in rest:
                yield piece


async def _behind(source: AsyncIterator[bytes], reading: Reading, drain_s: float) -> AsyncGenerator[bytes, None]:
    """What comes behind a finished answer within `drain_s`; from its end on, only what keeps the connection in use."""
    until = asyncio.get_running_loop().time() + drain_s
    while drain_s and not reading.is_over:
        piece = await _next(source, until)
        if piece is None:
            return
        yield piece
    if drain_s and reading.has_finish:
        until = min(until, asyncio.get_running_loop().time() + REUSE_WAIT_S)
        while await _next(source, until) is not None:
            pass


async def _next(source: AsyncIterator[bytes], until: float) -> bytes | None:
    """The next bytes, None where nothing more comes in time."""
    timer = asyncio.timeout_at(until)
    try:
        async with timer:
            return await anext(source, None)
    except TimeoutError:
        if not timer.expired():
            raise
    return None
