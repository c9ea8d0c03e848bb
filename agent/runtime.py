"""One session at work: prompts in, a queue, an interrupt, and a turn that is always settled."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from agent.events import RequestOpened, RequestSettled, TurnEnded, TurnEvent, TurnStarted
from agent.open_session import OpenSession
from agent.providers.base import ErrorKind, ProviderError
from agent.turn import resume_turn, run_turn
from session.errors import UserError
from session.lease import TurnLease
from session.models import (
    Approval,
    ExitReason,
    Finish,
    Level,
    Message,
    Route,
    ToolCall,
)
from session.settlement import Settlement, settle
from session.tables import Tables

log = logging.getLogger(__name__)

INTERRUPTED = "the turn was interrupted"
PROCESS_DIED = "hermes ended before this was answered"


class Live(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    WORKING = "working"
    ASKING = "asking"
    FAILED = "failed"


UNFORESEEN = "The turn failed inside hermes and was stopped; what is stored is safe. `hermes logs` has the details."


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a turn did not end by itself. `cause` is a clause for an interrupt, a sentence for a failure."""

    finish: Finish
    reason: ExitReason
    cause: str
    kind: str = ""


class BusyElsewhere(UserError):
    """Another process runs a turn in this session."""

    sentence = "Another hermes is working in this session. Wait for it to finish, or start a new session with /new."


class Runtime:
    """Drives the turns of one session and publishes what happens in them."""

    def __init__(self, s: OpenSession, locks: Path, publish: Callable[[TurnEvent], None]) -> None:
        self.s = s
        self.queue: deque[str] = deque()
        self.queue_is_held = False  # after an interrupt or a failure the queue waits for the person
        self.state = Live.IDLE
        self.working_since: float | None = None
        self._locks = locks
        self._publish_to_hub = publish
        self._task: asyncio.Task[None] | None = None
        self._cause = INTERRUPTED
        self._is_stopping = False  # the turn is being settled; to stop it again changes nothing
        self._asks_again = False  # the turn was left waiting by a process that died
        self._unstored: str | None = None  # the prompt of a turn that has not begun

    @property
    def id(self) -> str:
        return self.s.id

    @property
    def is_busy(self) -> bool:
        return self.state in (Live.WORKING, Live.ASKING)

    # --- what a person can do

    def submit(self, text: str) -> None:
        """Start a turn, or queue the text behind the one that runs."""
        if self._asks_again and self.state is Live.ASKING:
            self.queue.appendleft(text)
            self.interrupt(PROCESS_DIED, holds_queue=False)
        elif self.is_busy:
            self.queue.append(text)
        else:
            self._ask(text)

    def interrupt(self, cause: str = INTERRUPTED, *, holds_queue: bool = True) -> bool:
        """Stop the turn. What was queued waits for the person. False when nothing runs."""
        if self._task is None or not self.is_busy:
            return False
        if not self._is_stopping:
            self._is_stopping = True
            self._cause, self.queue_is_held = cause, holds_queue
            # Not at once: a task that is cancelled before its first step would never settle anything.
            asyncio.get_running_loop().call_soon(self._task.cancel)
        return True

    def release_queue(self) -> None:
        """Send what an interrupt held back."""
        self.queue_is_held = False
        if not self.is_busy:
            self._next()

    def take_back(self) -> str | None:
        """The newest queued text, out of the queue again."""
        return self.queue.pop() if self.queue else None

    async def switch(self, route: Route) -> None:
        """Another model for this session, as one value."""
        if self.s.is_stored:
            await self.s.write(lambda tables: tables.sessions.set_route(self.id, route))
        self.s.route = route
        self.s.session = replace(self.s.session, route=route)

    async def set_personality(self, name: str) -> None:
        if self.s.is_stored:
            await self.s.write(lambda tables: tables.sessions.set_personality(self.id, name))
        self.s.session = replace(self.s.session, personality=name)

    # --- around a turn

    async def recover(self) -> None:
        """After opening: settle what a dead process left behind, and ask again what nobody had answered."""
        lease = TurnLease.take(self._locks, self.id)
        if lease is None:
            return  # another process works in this session; there is nothing to mend
        try:
            settled = await self._settle(Finish.CUT, PROCESS_DIED, keep_waiting=True)
        finally:
            lease.release()
        if settled.waiting:
            self._asks_again = True
            self._start(resume_turn(self.s, self._unanswered()))

    async def close(self, cause: str) -> None:
        """End the turn, if one runs, and wait until it is settled."""
        if self.interrupt(PROCESS_DIED if self._asks_again else cause) and self._task is not None:
            await asyncio.wait([self._task])

    def _unanswered(self) -> tuple[ToolCall, ...]:
        answered = {row.result.call_id for row in self.s.rows if row.result is not None}
        return tuple(call for row in self.s.rows for call in row.calls if call.id not in answered)

    def _ask(self, text: str) -> None:
        self._unstored = text
        self._start(run_turn(self.s, text))

    def _start(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        self.state, self.working_since = Live.WORKING, time.monotonic()
        self._cause, self._is_stopping = INTERRUPTED, False
        self._task = asyncio.create_task(self._drive(steps))

    def _next(self) -> None:
        if self.queue and not self.queue_is_held:
            self._ask(self.queue.popleft())

    async def _drive(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        """Run a turn to its end. Whoever hears that it ended may at once begin the next."""
        ended = await self._run(steps)
        self._asks_again = False
        self._publish(ended)
        if not self.is_busy:
            self._next()

    async def _run(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded:
        """Publish a turn's events, and settle the turn if something stops it."""
        try:
            lease = TurnLease.take(self._locks, self.id)
            if lease is None:
                raise BusyElsewhere
            try:
                outcome = await self._follow(steps)
                self._is_stopping = True
                if isinstance(outcome, TurnEnded):
                    return outcome
                return await asyncio.shield(self._finish(outcome))
            finally:
                lease.release()
        except UserError as error:
            # The turn could not begin, or not even be settled: the store mends it when the session is opened again.
            if self._unstored is not None:
                self.queue.appendleft(self._unstored)  # a prompt that could not be stored is not lost
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, str(error))

    async def _follow(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded | Stop:
        """Publish what happens until the turn ends by itself or is stopped."""
        try:
            async with aclosing(steps) as events:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        return event
                    self._publish(event)
        except asyncio.CancelledError:
            return Stop(Finish.INTERRUPTED, ExitReason.INTERRUPTED, self._cause)
        except ProviderError as error:
            if error.is_cut and error.partial:
                return Stop(Finish.CUT, ExitReason.CUT, error.sentence, error.kind)
            return Stop(Finish.ERROR, ExitReason.ERROR, error.sentence, error.kind)
        except UserError as error:
            return Stop(Finish.ERROR, ExitReason.ERROR, str(error), ErrorKind.UNKNOWN)
        except Exception:
            # The one place for what nothing foresaw: the log has the traceback, the person one line.
            log.exception("a turn of session %s failed", self.id)
        return Stop(Finish.ERROR, ExitReason.ERROR, UNFORESEEN, ErrorKind.UNKNOWN)

    async def _finish(self, stop: Stop) -> TurnEnded:
        await self._settle(stop.finish, stop.cause, keep_waiting=False)
        if stop.reason is ExitReason.INTERRUPTED:
            return TurnEnded(self.s.stamp(), stop.reason)
        self._publish(await self.s.store_notice(Level.ERROR, stop.cause))
        return TurnEnded(self.s.stamp(), stop.reason, stop.kind, stop.cause)

    async def _settle(self, finish: Finish, cause: str, keep_waiting: bool) -> Settlement:
        """Make the stored turn legal, and catch up with the store: what was being written when the turn stopped is in it."""
        await self.s.save_partial()
        now = time.time()

        def mend(tables: Tables) -> tuple[Settlement, list[Message]]:
            settled = settle(tables, self.id, finish=finish, cause=cause, at=now, keep_waiting=keep_waiting)
            return settled, tables.messages.after(self.id, self.s.last_row_id)

        settled, rows = await self.s.write(mend)
        for request in settled.withdrawn:
            self._publish(RequestSettled(self.s.stamp(), request, Approval.CANCELLED, cause))
        for row in rows:
            self._publish(self.s.remember(row))
        return settled

    def _publish(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self.state, self._unstored = Live.WORKING, None
            case RequestOpened():
                self.state = Live.ASKING
            case RequestSettled():
                self.state = Live.WORKING
            case TurnEnded(reason=reason):
                self.working_since = None
                failed = reason in (ExitReason.ERROR, ExitReason.CUT)
                self._unstored = None
                self.state = Live.FAILED if failed else Live.IDLE
                self.queue_is_held = self.queue_is_held or failed
            case _:
                pass
        self._publish_to_hub(event)
