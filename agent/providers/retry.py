"""Asks again when asking again can help, and says so before it waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from agent.providers.base import NOTHING, Delta, ModelRequest, Provider, ProviderError, Reply, Restarting
from session.models import Partial

FIRST_WAIT_S = 2.0
LONGEST_BACKOFF_S = 60.0


@dataclass(slots=True)
class _Tries:
    """What one request has used up: failures before an answer began, and answers that broke off."""

    request_retries: int
    stream_retries: int
    requests: int = 0
    streams: int = 0
    partial: Partial = NOTHING

    def restart(self, error: ProviderError, has_begun: bool) -> Restarting | None:
        """The next attempt, or None when there is none."""
        self.partial = error.partial or self.partial
        if not error.may_retry:
            return None
        if has_begun or error.is_cut:
            self.streams += 1
            used, allowed, other = self.streams, self.stream_retries, self.requests
        else:
            self.requests += 1
            used, allowed, other = self.requests, self.request_retries, self.streams
        if used > allowed:
            return None
        wait_s = backoff_s(used) if error.retry_after_s is None else error.retry_after_s
        return Restarting(1 + other + used, 1 + other + allowed, error.sentence, wait_s)


class RetryingProvider:
    """Another provider, asked again after failures that may pass.

    A broken answer is never continued: a Restarting voids all that came before it. When the attempts are used up the
    last error is raised, with the last partial answer there was (A34).
    """

    def __init__(
        self,
        inner: Provider,
        stream_retries: int = 2,
        request_retries: int = 3,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._stream_retries = stream_retries
        self._request_retries = request_retries
        self._sleep = sleep

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        tries = _Tries(self._request_retries, self._stream_retries)
        while True:
            has_begun = False
            try:
                async with aclosing(self._inner.stream(request)) as parts:
                    async for part in parts:
                        has_begun = True
                        yield part
                return
            except ProviderError as error:
                restart = tries.restart(error, has_begun)
                if restart is None:
                    raise _with_partial(error, tries.partial) from None
            yield restart
            await self._sleep(restart.wait_s)

    async def aclose(self) -> None:
        await self._inner.aclose()


def backoff_s(failures: int) -> float:
    """Doubles with each failure; up to half as much again by chance keeps many clients from asking in step."""
    return min(LONGEST_BACKOFF_S, FIRST_WAIT_S * 2 ** (failures - 1) * (1 + random.random() / 2))


def _with_partial(error: ProviderError, partial: Partial) -> ProviderError:
    if error.partial == partial:
        return error
    return ProviderError(
        error.kind,
        error.sentence,
        may_retry=error.may_retry,
        retry_after_s=error.retry_after_s,
        is_cut=True,
        partial=partial,
        usage=error.usage,
    )
