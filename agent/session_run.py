"""What runs in one session at a moment: its one task, and how that is stopped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Coroutine
from contextlib import aclosing
from enum import StrEnum

from msgspec import Struct

from agent.begun_turn import SentElsewhere
from agent.events import Notice, TurnEnded, TurnEvent
from agent.open_session import OpenSession
from agent.providers.base import NOTHING, ErrorKind, ProviderError
from session.errors import SessionDeleted, UserError
from session.models import ExitReason, Finish, Level, Partial

log = logging.getLogger(__name__)

INTERRUPTED = "the turn was interrupted"
FAILED = "the turn failed"
UNFORESEEN = "The turn failed inside hermes and was stopped; what is stored is safe. `hermes logs` has the details."


class Live(StrEnum):
    """What a session is doing."""

    IDLE = "idle"
    WORKING = "working"
    ASKING = "asking"
    FAILED = "failed"


class Doing(StrEnum):
    """What a session works at."""

    TURN = "turn"
    COMMAND = "command"  # that the person runs themselves
    WORK = "work"  # beside its turns: nothing of it is left to settle


class SessionBusy(UserError):
    """What was asked for takes the rows out from under a turn, or another compaction."""

    sentence = "Something is still running in this session, so nothing was changed. Stop it or wait for its end first."


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


class SessionRun:
    """The task of one session. There is one at most."""

    def __init__(self, s: OpenSession) -> None:
        self._s = s
        self.state = Live.IDLE
        self.doing = Doing.TURN  # what runs, if anything
        self.working_since: float | None = None
        self.is_stopping = False  # an interrupt was asked for; a second one changes nothing
        self.lost: UserError | None = None  # why it must end without another word in the store
        self._cause = INTERRUPTED
        self._task: asyncio.Task[None] | None = None
        self._is_stoppable = False  # the steps are run, and not yet what settles them

    @property
    def is_busy(self) -> bool:
        return self.state in (Live.WORKING, Live.ASKING)

    def refuse_busy(self) -> None:
        """Raises SessionBusy."""
        if self.is_busy:
            raise SessionBusy

    def begin(self, doing: Doing, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        self.state, self.working_since, self.doing = Live.WORKING, time.monotonic(), doing
        self._cause, self.is_stopping, self.lost = INTERRUPTED, False, None
        self._task = asyncio.create_task(work)
        return self._task

    def be_idle(self) -> None:
        self.state, self.working_since = Live.IDLE, None

    def interrupt(self, cause: str) -> bool:
        """Stop what runs. False when nothing does."""
        if self._task is None or not self.is_busy:
            return False
        if not self.is_stopping:
            self.is_stopping, self._cause = True, cause
            # Not at once: a task that is cancelled before its first step would never settle anything.
            asyncio.get_running_loop().call_soon(self._cancel)
        return True

    async def ended(self) -> None:
        """Until the task is over."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def follow(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded | Stop | None:
        """Publish what happens until a turn ends by itself or is stopped; None for work that has no such end."""
        if self.is_stopping:
            return self._interruption()
        self._is_stoppable = True
        try:
            async with aclosing(steps) as events:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        return event
                    self._s.publish(event)
            if self.doing is Doing.WORK:
                return None
        except asyncio.CancelledError:
            return self._interruption()
        except (SessionDeleted, SentElsewhere) as error:
            self.lost = error
        except ProviderError as error:
            said = self._s.masking.text(error.sentence)
            if error.is_cut and error.partial:
                return Stop(Finish.CUT, ExitReason.CUT, FAILED, error.kind, said, error.partial)
            return failure(said, error.kind)
        except UserError as error:
            return failure(self._s.masking.text(str(error)))
        except Exception:
            # The one place for what nothing foresaw: the log has the traceback, the person one line.
            log.exception("a turn of session %s failed", self._s.id)
        finally:
            self._is_stoppable = False
        return failure(UNFORESEEN)

    def _interruption(self) -> Stop:
        return Stop(Finish.INTERRUPTED, ExitReason.INTERRUPTED, self._cause)

    def _cancel(self) -> None:
        # A turn that failed in this very moment is settled already, and that is never cut short.
        if self._is_stoppable and self._task is not None:
            self._task.cancel()


def failure(error: str, kind: str = ErrorKind.UNKNOWN) -> Stop:
    return Stop(Finish.ERROR, ExitReason.ERROR, FAILED, kind, error)


async def around(s: OpenSession, change: Awaitable[None]) -> None:
    """Make a change around what runs. Where that can't be, the person is told and the work goes on."""
    try:
        await change
    except UserError as error:
        s.publish(Notice(s.stamp(), Level.WARNING, s.masking.text(str(error))))
