"""The right to work in a session, for as long as a turn takes: taken before it, beaten during it, given back after it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar
from uuid import uuid4

from agent.open_session import OpenSession
from session.connection import Patience
from session.errors import ClosedDatabase, FailedWrite, LeaseLost, SessionDeleted, UserError
from session.lease import BEAT_S, Claim, Lease, forget
from session.tables import Tables

log = logging.getLogger(__name__)

T = TypeVar("T")

TAKE_AGAIN_S = 1.0

FRONTS = {"tui": "the screen", "chat": "hermes chat"}  # as a person knows them


class BusyElsewhere(UserError):
    """Another process runs a turn in this session."""

    sentence = (
        "Another hermes is working in this session: {front}, process {pid} on {host}, since {since}. "
        "Wait for it to finish, or start a new session with /new."
    )


class TurnLease:
    """`async with` holds the lease of a session. Raises BusyElsewhere, SessionDeleted or what a write raises.

    `lost` is called when it turns out that the lease is another's, or the session gone; a beat that fails is no error. On
    a full disk, where nobody else can take a lease either, the turn runs without one until it can be had.
    """

    def __init__(self, s: OpenSession, lost: Callable[[UserError], None]) -> None:
        self._s = s
        self._claim = Claim(s.id, uuid4().hex, s.parts.source)
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_recorded = True
        self._is_over = False

    async def __aenter__(self) -> None:
        now = time.time()
        db = self._s.parts.db
        try:
            standing = await asyncio.wrap_future(
                db.write(lambda tables: tables.leases.take(self._claim, now), patience=Patience.TRANSCRIPT)
            )
        except FailedWrite:
            self._is_recorded, standing = False, None
        except BaseException:
            self._leave()
            raise
        if standing is not None:
            forget(self._claim)
            raise busy(standing)
        self._s.backlog.claim = self._claim
        self._timer = self._loop.call_later(BEAT_S if self._is_recorded else TAKE_AGAIN_S, self._beat)

    async def __aexit__(self, *_: object) -> None:
        self._s.backlog.claim = None
        self._leave()

    # --- inside

    def _leave(self) -> None:
        """Nobody waits for this: what is asked of the store later comes after it."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        forget(self._claim)
        self._ask(lambda tables: tables.leases.release(self._claim), Patience.TRANSCRIPT, self._released)

    def _released(self, future: Future[None]) -> None:
        error = future.exception()
        if error is not None:  # others would wait for this process to end
            log.warning("the lease of session %s was not given back yet: %s", self._s.id, error)
            self._timer = self._loop.call_later(BEAT_S, self._leave)

    def _beat(self) -> None:
        now = time.time()
        if self._is_recorded:
            self._ask(lambda tables: tables.leases.beat(self._claim, now), Patience.HEARTBEAT, self._beaten)
        else:
            self._ask(lambda tables: tables.leases.take(self._claim, now), Patience.HEARTBEAT, self._taken)

    def _beaten(self, future: Future[bool]) -> None:
        if self._is_over:
            return
        error = future.exception()
        if isinstance(error, SessionDeleted):
            self._lost(error)
        elif error is None and not future.result():
            self._lost(LeaseLost())
        else:
            self._timer = self._loop.call_later(BEAT_S, self._beat)

    def _taken(self, future: Future[Lease | None]) -> None:
        """The lease could be had at last, or not yet, or not at all."""
        if self._is_over:
            return
        error = future.exception()
        standing = None if error else future.result()
        if isinstance(error, SessionDeleted):
            self._lost(error)
        elif standing is not None:
            self._lost(busy(standing))
        else:
            self._is_recorded = error is None
            self._timer = self._loop.call_later(BEAT_S if self._is_recorded else TAKE_AGAIN_S, self._beat)

    def _ask(self, change: Callable[[Tables], T], patience: Patience, then: Callable[[Future[T]], None]) -> None:
        """Write beside the loop, which hears of the end if it still runs by then."""
        try:
            future = self._s.parts.db.write(change, patience=patience)
        except ClosedDatabase:
            return
        future.add_done_callback(lambda done: self._tell(then, done))

    def _tell(self, then: Callable[[Future[T]], None], done: Future[T]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(then, done)


def busy(lease: Lease) -> BusyElsewhere:
    return BusyElsewhere(
        front=FRONTS.get(lease.claim.front, lease.claim.front),
        pid=lease.holder.pid,
        host=lease.holder.host_name,
        since=time.strftime("%H:%M", time.localtime(lease.taken_at)),
    )
