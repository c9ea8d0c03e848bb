"""Work beside the turns of a session, such as compacting or rewinding it: nothing of it is left to settle."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

from agent.events import CompactionEnded, CompactionStarted, Notice, TurnEvent
from agent.open_session import OpenSession
from agent.prompt_queue import PromptQueue
from agent.session_model import SessionModel
from agent.session_run import UNFORESEEN, Doing, SessionRun, Stop, around
from agent.turn_lease import TurnLease
from session.errors import UserError
from session.models import Level

T = TypeVar("T")

STOPPED = "The compaction was stopped; the conversation is as it was."

log = logging.getLogger(__name__)


class SideWork:
    """Runs such work, one at a time and never beside a turn. `go_on` is called when the next thing can begin."""

    def __init__(
        self,
        s: OpenSession,
        run: SessionRun,
        model: SessionModel,
        queue: PromptQueue,
        lose: Callable[[UserError], None],
        go_on: Callable[[], None],
    ) -> None:
        self._s, self._run, self._model, self._queue = s, run, model, queue
        self._lose, self._go_on = lose, go_on
        self._compaction: CompactionStarted | None = None  # the one that runs
        self._compacted: CompactionEnded | None = None  # how one ended that is no part of a turn

    def compact(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        """Run a compaction. Raises SessionBusy."""
        self._run.refuse_busy()
        self._run.begin(Doing.WORK, self._compact(steps))

    async def alone(self, work: Callable[[], Awaitable[tuple[T, Sequence[TurnEvent]]]]) -> T:
        """Do something while nothing else runs, and tell its events when that is over. Raises SessionBusy."""
        self._run.refuse_busy()
        done: list[T] = []
        await asyncio.shield(self._run.begin(Doing.WORK, self._alone(work, done)))
        return done[0]

    # --- compactions, also those that are part of a turn

    def hear_start(self, event: CompactionStarted) -> None:
        self._compaction = event

    def holds_back(self, event: CompactionEnded) -> bool:
        """Whether the end is told only when the lease is given back: then the next thing can begin."""
        self._compaction = None
        is_ours = self._run.is_busy and self._run.doing is Doing.WORK
        if is_ours:
            self._compacted = event
        return is_ours

    def end_compaction(self) -> None:
        """The turn is over: nothing comes of a compaction that still ran in it."""
        if self._compaction is not None:
            self._s.publish(self._came_to_nothing(STOPPED))

    # --- inside

    async def _compact(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        """As with a turn, whoever hears that it ended may at once begin another thing."""
        self._compacted = None
        error = await self._compacting(steps)
        await around(self._s, self._model.take_up())
        ended = self._compacted or self._came_to_nothing(error)
        self._be_idle()
        self._s.publish(ended)
        if error and self._compacted is None:
            self._s.publish(Notice(self._s.stamp(), Level.WARNING, error))
        self._go_on()

    async def _compacting(self, steps: AsyncGenerator[TurnEvent, None]) -> str:
        """Publish what happens in it. Why it did not come to its end, "" where it did."""
        try:
            async with TurnLease(self._s, self._lose):
                outcome = await self._run.follow(steps)
        except UserError as error:
            return self._s.masking.text(str(error))
        except Exception:
            log.exception("a compaction of session %s failed", self._s.id)
            return UNFORESEEN
        if self._run.lost is not None:
            return self._s.masking.text(str(self._run.lost))
        return (outcome.error or STOPPED) if isinstance(outcome, Stop) else ""

    async def _alone(self, work: Callable[[], Awaitable[tuple[T, Sequence[TurnEvent]]]], done: list[T]) -> None:
        try:
            async with TurnLease(self._s, self._lose):
                result, events = await work()
        finally:
            await around(self._s, self._model.take_up())
            self._be_idle()
        done.append(result)
        for event in events:
            self._s.publish(event)
        self._go_on()

    def _be_idle(self) -> None:
        self._run.be_idle()
        self._queue.add_early()

    def _came_to_nothing(self, error: str) -> CompactionEnded:
        tokens = self._compaction.tokens if self._compaction is not None else 0
        return CompactionEnded(self._s.stamp(), tokens, tokens, 0, error)
