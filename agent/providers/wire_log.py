"""What went over the wire: sizes, times, attempts, status and host of the last requests; never a body, never a key.

Each attempt at a request is one `Exchange`, kept in memory and as one line of logs/wire.log, so that `hermes logs wire`
can tell of the last requests of a session when they are over and the process is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from agent.providers.base import Delta, ModelRequest, Provider, ProviderError, Reply
from agent.providers.quotas import Limit, limits_in

KEPT = 200  # exchanges in memory
QUIET_S = 0.3  # the end of an answer is shown first, and a thread that begins to write would hold that up
FILE_BYTES = 500_000  # a larger file makes room for a new one; one older is kept

log = logging.getLogger(__name__)


class Exchange(Struct, frozen=True):
    """One attempt at a request. Times are in seconds from when it was sent; None for what never came.

    `at` is a Unix time, `status` 0 where no answer began, `outcome` how it ended: ok, stopped, or a kind of error.
    """

    at: float
    session: str
    provider: str
    model: str
    host: str
    path: str
    attempt: int
    status: int
    sent_bytes: int
    received_bytes: int
    opened_s: float | None
    first_s: float | None
    ended_s: float
    outcome: str


class Received(Protocol):
    """An HTTP response as far as it is counted."""

    @property
    def status_code(self) -> int: ...
    @property
    def num_bytes_downloaded(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


class Attempt:
    """An exchange under way; the HTTP layer tells it what it sends and receives."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._at = time.time()
        self._began = time.monotonic()
        self._opened_s: float | None = None
        self._first_s: float | None = None
        self._sent = ("", "", 0)
        self._response: Received | None = None
        self.limits: Sequence[Limit] = ()  # that the answer told

    def sent(self, host: str, path: str, size_bytes: int) -> None:
        self._began = time.monotonic()  # building the client and the body is not the server's time
        self._sent = (host, path, size_bytes)

    def opened(self, response: Received) -> None:
        self._opened_s = self._passed()
        self._response = response
        self.limits = limits_in(response.headers)

    def part(self) -> None:
        if self._first_s is None:
            self._first_s = self._passed()

    def ended(self, outcome: str) -> Exchange:
        route, response = self._request.route, self._response
        return Exchange(
            self._at,
            self._request.session,
            route.provider,
            route.model,
            *self._sent[:2],
            self._request.attempt,
            response.status_code if response else 0,
            self._sent[2],
            response.num_bytes_downloaded if response else 0,
            self._opened_s,
            self._first_s,
            self._passed(),
            outcome,
        )

    def _passed(self) -> float:
        return round(time.monotonic() - self._began, 4)


# The SDK stands between the provider, which knows the session, and the HTTP client, which sees the bytes.
CURRENT: ContextVar[Attempt | None] = ContextVar("wire_attempt", default=None)


class WireLog:
    """The last exchanges of this process, and the file of those of all processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: deque[Exchange] = deque(maxlen=KEPT)
        self._unwritten: list[Exchange] = []
        self._writing: asyncio.Task[None] | None = None
        self._is_hurried = asyncio.Event()
        self._limits: dict[str, Sequence[Limit]] = {}  # by provider, as it told them last

    def limits(self, provider: str) -> Sequence[Limit]:
        """How much a provider still lets a person ask, as its latest answer told it; nothing of what is over."""
        now = time.time()
        told = self._limits.get(provider, ())
        return [limit for limit in told if limit.resets_at is not None and limit.resets_at > now]

    def exchanges(self, session: str = "") -> list[Exchange]:
        """Of one session, or all, oldest first."""
        return [one for one in self._kept if session in ("", one.session)]

    def add(self, exchange: Exchange, limits: Sequence[Limit] = ()) -> None:
        """Keep it; the file follows in a thread, together with what came meanwhile."""
        if limits:
            self._limits[exchange.provider] = limits
        self._kept.append(exchange)
        self._unwritten.append(exchange)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def flush(self) -> None:
        self._is_hurried.set()
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIET_S):
                await self._is_hurried.wait()
        while self._unwritten:
            lines = b"".join(msgspec.json.encode(one) + b"\n" for one in self._unwritten)
            self._unwritten = []
            try:
                await asyncio.to_thread(_append, self._path, lines)
            except OSError as error:
                log.warning("the wire log %s can't be written: %s", self._path, error.strerror)


class RecordedProvider:
    """Another provider, each of whose requests becomes an exchange in the wire log."""

    def __init__(self, inner: Provider, wire_log: WireLog) -> None:
        self._inner = inner
        self._wire_log = wire_log

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply, None]:
        attempt, outcome = Attempt(request), "stopped"
        CURRENT.set(attempt)
        try:
            async with aclosing(self._inner.stream(request)) as parts:
                async for part in parts:
                    attempt.part()
                    if isinstance(part, Reply):
                        outcome = "ok"
                    yield part
        except ProviderError as error:
            outcome = "cut" if error.is_cut else error.kind
            raise
        finally:
            self._wire_log.add(attempt.ended(outcome), attempt.limits)

    async def aclose(self) -> None:
        await self._inner.aclose()


def written(path: Path, session: str = "") -> Iterator[Exchange]:
    """What the file and the one before it hold, oldest first; lines that are none of ours are passed over. Blocks."""
    for file in (_older(path), path):
        try:
            lines = file.read_bytes().splitlines()
        except FileNotFoundError:
            continue
        for line in lines:
            with contextlib.suppress(ValueError):  # msgspec's own errors are ValueErrors
                exchange = msgspec.json.decode(line, type=Exchange)
                if session in ("", exchange.session):
                    yield exchange


def wire_log_path(logs: Path) -> Path:
    return logs / "wire.log"


def _append(path: Path, lines: bytes) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)  # never the home itself: a profile may have been deleted meanwhile
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > FILE_BYTES:
            path.replace(_older(path))
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, lines)
    finally:
        os.close(fd)


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")
