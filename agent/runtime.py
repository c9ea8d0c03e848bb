"""One session at work: prompts in, a queue, an interrupt, and a turn that is always settled."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agent.events import RequestOpened, RequestSettled, RowStored, TurnEnded, TurnEvent, TurnStarted
from agent.open_session import OpenSession
from agent.providers.base import NOTHING, ErrorKind, ProviderError
from agent.turn import resume_turn, run_turn
from session.errors import UserError
from session.lease import TurnLease
from session.models import (
    ExitReason,
    Finish,
    Level,
    Partial,
    Role,
    Route,
    ToolCall,
)
from session.settlement import Settlement

log = logging.getLogger(__name__)

INTERRUPTED = "the turn was interrupted"
FAILED = "the turn failed"
PROCESS_DIED = "hermes ended before this was answered"


class Live(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    WORKING = "working"
    ASKING = "asking"
    FAILED = "failed"


UNFORESEEN = "The turn failed inside hermes and was stopped; what is stored is safe. `hermes logs` has the details."


class Stop(Struct, frozen=True):
    """Why a turn did not end by itself. `cause` is told in the results of calls that did not run, as a clause.

    `error` is a sentence for the person, "" for an interrupt; `part` is what a broken answer had said.
    """

    finish: Finish
    reason: ExitReason
    cause: str
    kind: str = ""
    error: str = ""
    part: Partial = NOTHING


class BusyElsewhere(UserError):
    """Another process runs a turn in this session."""

    sentence = "Another hermes is working in this session. Wait for it to finish, or start a new session with /new."


class Runtime:
    """Drives the turns of one session and publishes what happens in them."""

    def __init__(self, s: OpenSession, locks: Path, publish: Callable[[TurnEvent], None]) -> None:
        self.s = s
        self.queue: deque[str] = deque()
        self.queue_is_held = False  # what was queued before an interrupt or a failure waits for the person
        self.state = Live.IDLE
        self.working_since: float | None = None
        self._locks = locks
        self._publish_to_hub = publish
        self._task: asyncio.Task[None] | None = None
        self._cause = INTERRUPTED
        self._is_stopping = False  # an interrupt was asked for; a second one changes nothing
        self._is_stoppable = False  # the turn's steps are run, and not yet what settles them
        self._asks_again = False  # the turn was left waiting by a process that died, and nobody has answered since
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
        if not self.queue:
            self.queue_is_held = False  # what is typed after an interrupt was not held back by it
        if self._asks_again and self.state is Live.ASKING and not self._is_stopping:
            self.queue.append(text)
            self.interrupt(PROCESS_DIED, holds_queue=False)
        elif self.is_busy:
            self.queue.append(text)
        else:
            self._ask(text)

    def interrupt(self, cause: str = INTERRUPTED, *, holds_queue: bool = True) -> bool:
        """Stop the turn. What was queued waits for the person. False when nothing runs."""
        if self._task is None or not self.is_busy:
            return False
        self.queue_is_held = self.queue_is_held or holds_queue
        if not self._is_stopping:
            self._is_stopping, self._cause = True, cause
            # Not at once: a task that is cancelled before its first step would never settle anything.
            asyncio.get_running_loop().call_soon(self._cancel)
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
        died = Stop(Finish.CUT, ExitReason.INTERRUPTED, PROCESS_DIED)
        try:
            settled = await self._settle(died, keep_waiting=True)
        finally:
            lease.release()
        if settled.waiting:
            self._asks_again = True
            self._start(resume_turn(self.s, self._unanswered()))

    async def close(self, cause: str) -> None:
        """End the turn, if one runs, and wait until it is settled. None begins behind it."""
        self.queue_is_held = True
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

    def _cancel(self) -> None:
        # A turn that failed in this very moment is settled already, and that is never cut short.
        if self._is_stoppable and self._task is not None:
            self._task.cancel()

    def _next(self) -> None:
        if self.queue and not self.queue_is_held:
            self._ask(self.queue.popleft())

    async def _drive(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        """Run a turn to its end. Whoever hears that it ended may at once begin the next."""
        ended = await self._run(steps)
        self._asks_again = False
        if self._unstored is not None:  # a prompt that is not in the store is not lost
            self.queue.appendleft(self._unstored)
            self._unstored, self.queue_is_held = None, True
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
                if isinstance(outcome, TurnEnded):
                    return outcome
                return await asyncio.shield(self._finish(outcome))
            finally:
                lease.release()
        except UserError as error:
            # The turn could not begin, or not even be settled: the next one, or the next opening, mends it.
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, self._masked(str(error)))
        except Exception:
            log.exception("a turn of session %s could not be settled", self.id)
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, UNFORESEEN)

    async def _follow(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded | Stop:
        """Publish what happens until the turn ends by itself or is stopped."""
        self._is_stoppable = True
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
                return Stop(Finish.CUT, ExitReason.CUT, FAILED, error.kind, self._masked(error.sentence), error.partial)
            return failure(self._masked(error.sentence), error.kind)
        except UserError as error:
            return failure(self._masked(str(error)))
        except Exception:
            # The one place for what nothing foresaw: the log has the traceback, the person one line.
            log.exception("a turn of session %s failed", self.id)
        finally:
            self._is_stoppable = False
        return failure(UNFORESEEN)

    def _masked(self, sentence: str) -> str:
        return self.s.parts.secrets.mask(sentence)

    async def _finish(self, stop: Stop) -> TurnEnded:
        await self._settle(stop)
        if not stop.error and self.s.rows and self.s.rows[-1].role is Role.USER:
            self._publish(await self.s.store_notice(Level.INFO, "Interrupted before an answer came."))
        if stop.error and self._unstored is None:
            self._publish(await self.s.store_notice(Level.ERROR, stop.error))
        return TurnEnded(self.s.stamp(), stop.reason, stop.kind, stop.error)

    async def _settle(self, stop: Stop, *, keep_waiting: bool = False) -> Settlement:
        settled, events = await self.s.settle(
            stop.finish, stop.cause, stop.reason, keep_waiting=keep_waiting, part=stop.part
        )
        for event in events:
            self._publish(event)
        return settled

    def _publish(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self.state = Live.WORKING
            case RowStored(row=row) if row.role is Role.USER:
                self._unstored = None
            case RequestOpened():
                self.state = Live.ASKING
            case RequestSettled() if self.is_busy:  # one that is withdrawn at the opening starts nothing
                self.state, self._asks_again = Live.WORKING, False
            case TurnEnded(reason=reason):
                self.working_since = None
                failed = reason in (ExitReason.ERROR, ExitReason.CUT)
                self.state = Live.FAILED if failed else Live.IDLE
                self.queue_is_held = self.queue_is_held or failed
            case _:
                pass
        self._publish_to_hub(event)


def failure(error: str, kind: str = ErrorKind.UNKNOWN) -> Stop:
    return Stop(Finish.ERROR, ExitReason.ERROR, FAILED, kind, error)
