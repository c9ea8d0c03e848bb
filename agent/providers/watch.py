"""The limits that one attempt at a request is under, and how far it came.

An attempt whose time is up raises and never returns: what had come of its answer is a part, whatever comes behind.
Keep-alives are signs of life. Only `total_s` ends a server that sends nothing else.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from agent.providers.base import Contact
from agent.providers.wire_log import CURRENT

UNWIND_S = 1.0  # how long a reader may take to hear that its time is up, before its socket is shut down under it

T = TypeVar("T")


class Timeouts(Struct, frozen=True):
    """How long one attempt may take, in seconds; 0 is as long as it takes, for `drain_s` not at all.

    `first_byte_s` runs from asking until anything of the answer comes, `idle_s` from byte to byte after that, `total_s`
    over all of it; `drain_s` is for what may come behind a finished answer.
    """

    connect_s: float = 30.0
    first_byte_s: float = 300.0
    idle_s: float = 180.0
    total_s: float = 3_600.0
    drain_s: float = 2.0


Limits = Callable[[], Timeouts]  # asked anew for each attempt, and when a drain begins


class Overdue(Exception):
    """A limit has passed. The text says which, as a clause."""


class NetworkStream(Protocol):
    """A connection as the HTTP layer shows it."""

    def get_extra_info(self, info: str) -> object: ...


class Watch:
    """One attempt at a request. Its time begins with the first wait: making the client is not the server's time."""

    def __init__(self, limits: Limits = Timeouts) -> None:
        self.timeouts = limits()
        self.is_open = False  # the server had begun to answer
        self.has_events = False  # something of its answer was read, text or not
        self._limits = limits
        self._began: float | None = None
        self._is_heard = False
        self._host = ""
        self._sent_bytes = 0
        self._socket: Shutdown | None = None

    @property
    def drain_s(self) -> float:
        return self._limits().drain_s

    @property
    def contact(self) -> Contact:
        return Contact(self._host, self._sent_bytes, self.is_open, self.has_events)

    # --- told by the HTTP layer

    def sent(self, host: str, size_bytes: int) -> None:
        self._host, self._sent_bytes = host, size_bytes

    def contacted(self, host: str, port: int) -> None:
        """The machine that is really connected to, which may be a proxy."""
        self._host = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def connected(self, stream: NetworkStream) -> None:
        found = stream.get_extra_info("socket")
        self._socket = found if isinstance(found, Shutdown) else None

    # --- told by the reader

    def heard(self) -> None:
        self._is_heard = True

    def accepted(self) -> None:
        """An event of the answer was read. Only the first of an attempt counts."""
        if not self.has_events:
            self.has_events = True
            if attempt := CURRENT.get():
                attempt.part()

    async def wait(self, waited: Awaitable[T]) -> T:
        """What is waited for, unless a limit passes first: then it raises Overdue, whatever came of the wait."""
        until, limit = self._next()
        shut = None if until is None else asyncio.get_running_loop().call_at(until + UNWIND_S, self._shut_down)
        timer = asyncio.timeout_at(until)
        try:
            async with timer:
                came = await waited
        except Exception:
            if timer.expired():
                raise Overdue(limit) from None
            raise
        finally:
            if shut is not None:
                shut.cancel()
        if timer.expired():
            raise Overdue(limit)
        return came

    def _next(self) -> tuple[float | None, str]:
        """The moment at which the next limit passes, None where there is none, and what to say then."""
        limits, now = self.timeouts, asyncio.get_running_loop().time()
        began = self._began = now if self._began is None else self._began
        possible: list[tuple[float, str]] = []
        if limits.total_s:
            possible.append((began + limits.total_s, f"it took longer than {limits.total_s:g} s"))
        if self._is_heard and limits.idle_s:
            possible.append((now + limits.idle_s, f"nothing came for {limits.idle_s:g} s"))
        if not self._is_heard and limits.first_byte_s:
            possible.append((began + limits.first_byte_s, f"no answer began within {limits.first_byte_s:g} s"))
        return min(possible, default=(None, ""))

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


@runtime_checkable
class Shutdown(Protocol):
    """A socket, as far as it is used here."""

    def shutdown(self, how: int, /) -> None: ...


# The SDK stands between the provider, which watches, and the HTTP client, which is watched.
WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
