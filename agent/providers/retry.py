"""Asks again when asking again can help, and says so before it waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from agent.providers.base import (
    NOTHING,
    Contact,
    Delta,
    ErrorKind,
    ModelRequest,
    Provider,
    ProviderError,
    Reply,
    Restarting,
)
from agent.providers.spill import is_large, spill
from session.models import Partial

FIRST_WAIT_S, LONGEST_BACKOFF_S = 2.0, 60.0
EMPTY_FIRST_WAIT_S, EMPTY_LONGEST_BACKOFF_S = 5.0, 120.0  # a server that answers with nothing needs longer
SUSPICIOUS_BYTES = 256 * 1024  # from here on a request's size may be why nobody answers it


@dataclass(slots=True)
class _Tries:
    """What one request has used up: failures before an answer began, and answers that broke off."""

    request_retries: int
    stream_retries: int
    requests: int = 0
    streams: int = 0
    unopened: int = 0  # failures of the transport before any answer had begun
    partial: Partial = NOTHING
    spilled: str = ""  # what was done to the request because it is large

    @property
    def attempt(self) -> int:
        return 1 + self.requests + self.streams

    def restart(self, error: ProviderError, has_begun: bool) -> Restarting | None:
        """The next attempt, or None when there is none."""
        self.partial = error.partial or self.partial
        self.unopened += error.kind is ErrorKind.TIMEOUT and not error.contact.is_open
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
        wait_s = backoff_s(used, error.kind) if error.retry_after_s is None else error.retry_after_s
        return Restarting(1 + other + used, 1 + other + allowed, error.sentence, wait_s, error.usage)

    def conclude(self, error: ProviderError) -> None:
        """Make the last failure tell of all: the part that came last (A34), and what was tried."""
        if self.partial and error.partial != self.partial:
            error.partial, error.is_cut = self.partial, True
        attempts = self.requests + self.streams
        if error.may_retry and self.unopened == attempts:
            error.add(_unopened(error.contact, attempts))
        if self.spilled:
            error.add(self.spilled)


class RetryingProvider:
    """Another provider, asked again after failures that may pass.

    A broken answer is never continued: a Restarting voids all that came before it. When the attempts are used up the
    last error is raised, with the last partial answer there was (A34). `outputs` names the folder for what is too long
    in the requests of a session.
    """

    def __init__(
        self,
        inner: Provider,
        stream_retries: int = 2,
        request_retries: int = 3,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        outputs: Callable[[str], Path] | None = None,
    ) -> None:
        self._inner = inner
        self._stream_retries = stream_retries
        self._request_retries = request_retries
        self._sleep = sleep
        self._outputs = outputs

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        tries = _Tries(self._request_retries, self._stream_retries)
        while True:
            has_begun = False
            try:
                async with aclosing(self._inner.stream(replace(request, attempt=tries.attempt))) as parts:
                    async for part in parts:
                        has_begun = True
                        yield _warning(part, tries.spilled) if isinstance(part, Reply) else part
                return
            except ProviderError as error:
                restart = tries.restart(error, has_begun)
                if restart is None:
                    tries.conclude(error)
                    raise
                is_hung_up = error.kind is ErrorKind.TIMEOUT and not error.contact.has_events
            if is_hung_up and not tries.spilled:
                request, tries.spilled = await self._smaller(request, restart)
            yield restart
            await self._sleep(restart.wait_s)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _smaller(self, request: ModelRequest, restart: Restarting) -> tuple[ModelRequest, str]:
        """The request as it is to be sent from now on, and what to say of that, "" where its size is no reason."""
        if self._outputs is None or not request.session or not await asyncio.to_thread(is_large, request.messages):
            return request, ""
        made = await asyncio.to_thread(spill, request.messages, self._outputs(request.session))
        before, after, count = (
            f"{made.before_bytes:,}",
            f"{made.after_bytes:,}",
            f"{restart.attempt} of {restart.attempts}",
        )
        if made.before_bytes == made.after_bytes:
            return request, (
                f"Nobody answered a request of {before} bytes. Nothing in it could be shortened: attempt {count} sent it"
                " unchanged."
            )
        return replace(request, messages=made.messages), (
            f"Nobody answered a request of {before} bytes. From attempt {count} on it was sent with {after} bytes, long"
            " tool results in files; the conversation keeps them whole."
        )


def backoff_s(failures: int, kind: ErrorKind = ErrorKind.UNKNOWN) -> float:
    """Doubles with each failure; up to half as much again by chance keeps many clients from asking in step."""
    is_empty = kind is ErrorKind.EMPTY_ANSWER
    first_s, longest_s = (
        (EMPTY_FIRST_WAIT_S, EMPTY_LONGEST_BACKOFF_S) if is_empty else (FIRST_WAIT_S, LONGEST_BACKOFF_S)
    )
    return min(longest_s, first_s * 2 ** (failures - 1) * (1 + random.random() / 2))


def _warning(reply: Reply, sentence: str) -> Reply:
    return replace(reply, warnings=(sentence, *reply.warnings)) if sentence else reply


def _unopened(contact: Contact, attempts: int) -> str:
    """Who was asked, how often and with how much, when nobody ever began to answer."""
    size_kb = max(1, round(contact.sent_bytes / 1024))
    times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    is_suspicious = contact.sent_bytes >= SUSPICIOUS_BYTES
    why = "It or a proxy may refuse requests this large." if is_suspicious else "It looks unreachable; try again later."
    return f"No answer began at {contact.host or 'this server'} in {times} with a request of {size_kb} KB. {why}"
