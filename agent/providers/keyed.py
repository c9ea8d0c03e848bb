"""A server whose key may change while hermes runs: each request goes out with the key of that moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from agent.providers.base import Delta, ErrorKind, ModelRequest, Provider, ProviderError, Reply
from session.errors import UserError


@dataclass(slots=True, eq=False)
class _Client:
    """The client made for one key, and how many requests it is at."""

    key: str
    provider: Provider
    requests: int = 0


class KeyedProvider:
    """Asks for the key before each request, and makes another client when it is not the one of the last request.

    `key` raises UserError where there is none. `refused` is told when the server would not have a key.
    """

    def __init__(
        self, key: Callable[[], Awaitable[str]], refused: Callable[[], None], make: Callable[[str], Provider]
    ) -> None:
        self._key = key
        self._refused = refused
        self._make = make
        self._client: _Client | None = None
        self._left: set[_Client] = set()  # clients of former keys that are still at a request

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        client = await self._current()
        client.requests += 1
        try:
            async with aclosing(client.provider.stream(request)) as parts:
                async for part in parts:
                    yield part
        except ProviderError as error:
            if error.kind is ErrorKind.AUTH:
                self._refused()
            raise
        finally:
            client.requests -= 1
            if client in self._left and not client.requests:
                self._left.discard(client)
                await client.provider.aclose()

    async def aclose(self) -> None:
        clients = [*self._left, *([self._client] if self._client else [])]
        self._left, self._client = set(), None
        await asyncio.gather(*(client.provider.aclose() for client in clients))

    async def _current(self) -> _Client:
        try:
            key = await self._key()
        except UserError as error:
            raise ProviderError(ErrorKind.AUTH, str(error)) from None
        former = self._client
        if former is not None and former.key == key:
            return former
        client = self._client = _Client(key, self._make(key))
        if former is not None and former.requests:
            self._left.add(former)
        elif former is not None:
            await former.provider.aclose()
        return client
