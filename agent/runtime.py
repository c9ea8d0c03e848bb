"""One session at work: prompts in, a queue, an interrupt, and a turn that is always settled."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.approvals.shell_verdict import Mode
from agent.begun_turn import SentElsewhere
from agent.context.compaction import STOPPED, compact, undo
from agent.events import (
    CaughtUp,
    CompactionEnded,
    CompactionStarted,
    Notice,
    QueueChanged,
    RequestOpened,
    RequestSettled,
    RowStored,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    Why,
)
from agent.open_session import OpenSession
from agent.prompt_queue import PromptQueue, Waiting
from agent.providers.base import NOTHING, ErrorKind, ProviderError
from agent.session_model import SessionModel
from agent.session_options import SessionOptions, store_options
from agent.tools import ask_user
from agent.turn import resume_turn, run_turn
from agent.turn_lease import BusyElsewhere, TurnLease
from agent.workspace import find_workspace
from session.errors import SessionDeleted, UserError
from session.models import (
    Approval,
    ExitReason,
    Finish,
    Level,
    Partial,
    Role,
    Route,
    ToolCall,
)
from session.settlement import Settlement, is_unsettled
from session.tables import Tables

log = logging.getLogger(__name__)

T = TypeVar("T")

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


class Runtime:
    """Drives the turns of one session and publishes what happens in them."""

    def __init__(self, s: OpenSession, publish: Callable[[TurnEvent], None]) -> None:
        self.s = s
        self.model = SessionModel(s)
        self._queue = PromptQueue(s, self._hear_queue, self._say_trouble)
        self.queue_is_held = False  # what was queued before an interrupt or a failure waits for the person
        self.state = Live.IDLE
        self.working_since: float | None = None
        self._publish_to_hub = publish
        s.publish, s.take_steers = self._publish, self._queue.take_steers
        self._task: asyncio.Task[None] | None = None
        self._cause = INTERRUPTED
        self._is_stopping = False  # an interrupt was asked for; a second one changes nothing
        self._is_stoppable = False  # the turn's steps are run, and not yet what settles them
        self._asks_again = False  # the turn was left waiting by a process that died, and nobody has answered since
        self._unstored: Waiting | None = None  # the prompt of a turn that has not begun
        self._lost: UserError | None = None  # why the turn must end without another word in the store
        self._compaction: CompactionStarted | None = None  # the one that runs
        self._compacted: CompactionEnded | None = None  # how one ended that is no part of a turn
        self._is_turn = False  # what runs, if anything
        self._has_unsaved_options = False

    @property
    def id(self) -> str:
        return self.s.id

    @property
    def is_busy(self) -> bool:
        return self.state in (Live.WORKING, Live.ASKING)

    @property
    def is_deleted(self) -> bool:
        """Whether the session was deleted under us. What was said in it can still be read here."""
        return isinstance(self._lost, SessionDeleted)

    @property
    def queue(self) -> tuple[str, ...]:
        """What is not sent yet, the next one first."""
        return self._queue.texts

    # --- what a person can do

    def submit(self, text: str, parts: str = "") -> None:
        """Start a turn, or queue the text behind the one that runs. `parts` are those of its row, and can't wait in line.

        Raises SessionBusy.
        """
        if parts:
            self._refuse_busy()
        if not self._queue:
            self.queue_is_held = False  # what is typed after an interrupt was not held back by it
        if self._asks_again and self.state is Live.ASKING and not self._is_stopping:
            self._queue.add(text)
            self.interrupt(PROCESS_DIED, holds_queue=False)
        elif self.is_busy:
            self._queue.add(text)
        else:
            self._ask(Waiting(text), parts)

    def steer(self, text: str) -> bool:
        """Tell the model that works something behind the next result, else with the next prompt. False where none works:
        nothing is done then."""
        if not self.is_busy or not self._is_turn or self._is_stopping:
            return False
        self._queue.add(text, is_steer=True)
        return True

    @property
    def steers(self) -> frozenset[int]:
        """Which of the queued texts the model gets while it works."""
        return self._queue.steers

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

    def take_back(self, index: int = -1) -> str | None:
        """A queued text, the newest where none is named, out of the queue again."""
        return self._queue.take_back(index)

    def move_queued(self, index: int, step: int) -> bool:
        """Let a queued text change places with its neighbour. False where there is none."""
        return self._queue.move(index, step)

    async def switch(self, route: Route) -> None:
        """Another model for this session, as one value."""
        await self.model.switch(route)

    async def set_personality(self, name: str) -> None:
        """How the model speaks from the next prompt on, "" for its own way. A turn that runs ends as it began."""
        if self.s.is_stored:
            await self.s.write(lambda tables: tables.sessions.set_personality(self.id, name))
        self.s.session = replace(self.s.session, personality=name)
        if not self.is_busy:
            await self.s.speech.lay_over(name)

    async def set_options(self, options: SessionOptions) -> None:
        """Settle something for this session alone, from the next request on."""
        self.s.options, self._has_unsaved_options = options, True
        await self._save_options()

    async def _save_options(self) -> None:
        """A session that is not stored yet has no options in the store, either."""
        if self._has_unsaved_options and self.s.is_stored:
            self._has_unsaved_options, options = False, self.s.options
            await self.s.write(lambda tables: store_options(tables, self.id, options))

    async def move(self, cwd: Path) -> None:
        """Let the session work in another folder, with its tools and files. Raises SessionBusy, BusyElsewhere."""
        workspace = await asyncio.to_thread(find_workspace, cwd)

        async def moved() -> tuple[None, Sequence[TurnEvent]]:
            if self.s.is_stored:
                await self.s.write(lambda tables: tables.sessions.relink(self.id, str(cwd), str(workspace)))
            self.s.session = replace(self.s.session, cwd=str(cwd), workspace=str(workspace))
            return None, ()

        await self.alone(moved)

    @property
    def mode(self) -> Mode:
        return self.s.mode

    async def set_mode(self, mode: Mode) -> None:
        """How much the session asks from now on. What is being asked is withdrawn and judged anew (C28)."""
        stored = "" if mode is Mode.ASK else mode.value
        if self.s.is_stored:
            await self.s.write(lambda tables: tables.sessions.set_mode(self.id, stored))
        self.s.mode, self.s.session = mode, replace(self.s.session, mode=stored)
        inbox, changed = self.s.parts.inbox, f"the mode changed to {mode}"
        for request in inbox.pending(self.id):
            if request.tool != ask_user.NAME:
                inbox.answer(request.id, Answer(Approval.CANCELLED, changed, is_asked_anew=True))

    def tell(self, level: Level, text: str) -> None:
        """Say something now that is no part of the conversation."""
        self._publish(Notice(self.s.stamp(), level, text))

    def compact(self, focus: str = "") -> None:
        """Make the conversation smaller now, with regard to `focus`. Events tell how it goes. Raises SessionBusy."""
        self._refuse_busy()
        self._begin(self._work(compact(self.s, Why.ASKED, focus)))

    async def undo_compaction(self) -> None:
        """Bring back what the latest compaction took out. Raises SessionBusy, BusyElsewhere, and what `undo` raises."""

        async def undone() -> tuple[None, Sequence[TurnEvent]]:
            return None, await undo(self.s)

        await self.alone(undone)

    async def alone(self, work: Callable[[], Awaitable[tuple[T, Sequence[TurnEvent]]]]) -> T:
        """Do something to the session while no turn runs in it, here or elsewhere; its events are told when that is over.

        It comes to its end whoever stops waiting for it. Raises SessionBusy, BusyElsewhere, and what the work raises.
        """
        self._refuse_busy()
        done: list[T] = []
        await asyncio.shield(self._begin(self._alone(work, done)))
        return done[0]

    # --- around a turn

    async def recover(self) -> None:
        """After opening: settle what a dead process left behind, ask again what nobody had answered, hold what was
        not sent."""
        try:
            is_waiting = await self._mend()
        except BusyElsewhere:
            return  # another process works in this session; there is nothing to mend, and its queue is its own
        self._queue.restore(await self._read(lambda tables: tables.queued.all(self.id)))
        self.queue_is_held = bool(self._queue)
        if is_waiting:
            self._asks_again = True
            self._start(resume_turn(self.s, self._unanswered()))

    async def close(self, cause: str) -> None:
        """End the turn, if one runs, and wait until it is settled. None begins behind it."""
        self.queue_is_held = True
        if self.interrupt(PROCESS_DIED if self._asks_again else cause) and self._task is not None:
            await asyncio.wait([self._task])
        await self._queue.settled()

    def lose(self, error: UserError) -> None:
        """The session is not ours any more, or gone: the turn is stopped, and nothing of it is stored from now on."""
        self._lost = error
        if not self.interrupt(str(error)):
            self._publish(Notice(self.s.stamp(), Level.WARNING, str(error)))

    @property
    def queued_ids(self) -> frozenset[int]:
        """The rows of what is queued here."""
        return self._queue.row_ids()

    def let_go(self, gone: frozenset[int]) -> None:
        """Let go of queued texts that another process sent or took back, by their rows."""
        if self._queue.let_go(gone):
            self._publish(QueueChanged(self.s.stamp()))

    async def _mend(self) -> bool:
        """Settle what is left of a turn. Whether it waits for an answer. Raises BusyElsewhere where it still runs."""
        if not await self._read(lambda tables: is_unsettled(tables, self.id)):
            return False
        died = Stop(Finish.CUT, ExitReason.INTERRUPTED, PROCESS_DIED)
        async with TurnLease(self.s, self.lose):
            return bool((await self._settle(died, keep_waiting=True)).waiting)

    def _unanswered(self) -> tuple[ToolCall, ...]:
        answered = {row.result.call_id for row in self.s.rows if row.result is not None}
        return tuple(call for row in self.s.rows for call in row.calls if call.id not in answered)

    async def _read(self, look: Callable[[Tables], T]) -> T:
        return await asyncio.wrap_future(self.s.parts.db.read(look))

    def _ask(self, prompt: Waiting, parts: str = "") -> None:
        self._unstored = prompt
        self._start(run_turn(self.s, prompt.text, prompt.row_id, parts))

    def _start(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        self._is_turn = True
        self._begin(self._drive(steps))

    def _begin(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        self.state, self.working_since = Live.WORKING, time.monotonic()
        self._cause, self._is_stopping, self._lost = INTERRUPTED, False, None
        self._task = asyncio.create_task(work)
        return self._task

    def _cancel(self) -> None:
        # A turn that failed in this very moment is settled already, and that is never cut short.
        if self._is_stoppable and self._task is not None:
            self._task.cancel()

    def _next(self) -> None:
        if self._queue.is_ready and not self.queue_is_held:
            self._ask(self._queue.next())

    def _hear_queue(self) -> None:
        """A text came into the queue: perhaps after the end of the turn that it was to wait for."""
        self._publish(QueueChanged(self.s.stamp()))
        if not self.is_busy:
            self._next()

    def _say_trouble(self, error: UserError) -> None:
        said = f"The queued prompt would be lost if hermes ended now. {error}"
        self._publish(Notice(self.s.stamp(), Level.WARNING, self._masked(said)))

    async def _drive(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        """Run a turn to its end. Whoever hears that it ended may at once begin the next."""
        await self._settle_model(self.model.turn_begins())
        ended = await self._run(steps)
        await self._settle_model(self.model.turn_ended())
        await self._settle_model(self._save_options())
        self._asks_again = False
        if self._unstored is not None and not isinstance(self._lost, SentElsewhere):
            self._queue.put_back(self._unstored)  # a prompt that is not in the store is not lost
            self.queue_is_held = True
        self._unstored = None
        self._queue.end_steers()
        self._queue.add_early()
        if self._compaction is not None:
            self._publish(self._came_to_nothing(STOPPED))
        self._is_turn = False
        self._publish(ended)
        if not self.is_busy:
            self._next()

    # --- work that is no turn: nothing of it is left to settle

    def _refuse_busy(self) -> None:
        if self.is_busy:
            raise SessionBusy

    async def _work(self, steps: AsyncGenerator[TurnEvent, None]) -> None:
        """Run a compaction to its end. As with a turn, whoever hears that it ended may at once begin another thing."""
        self._compacted = None
        error = await self._worked(steps)
        await self._settle_model(self.model.take_up())
        ended = self._compacted or self._came_to_nothing(error)
        self._be_idle()
        self._publish(ended)
        if error and self._compacted is None:
            self._publish(Notice(self.s.stamp(), Level.WARNING, error))
        if not self.is_busy:
            self._next()

    async def _worked(self, steps: AsyncGenerator[TurnEvent, None]) -> str:
        """Publish what happens in it. Why it did not come to its end, "" where it did."""
        try:
            async with TurnLease(self.s, self.lose):
                outcome = self._interruption() if self._is_stopping else await self._follow(steps)
        except UserError as error:
            return self._masked(str(error))
        except Exception:
            log.exception("a compaction of session %s failed", self.id)
            return UNFORESEEN
        if self._lost is not None:
            return self._masked(str(self._lost))
        return (outcome.error or STOPPED) if isinstance(outcome, Stop) else ""

    async def _alone(self, work: Callable[[], Awaitable[tuple[T, Sequence[TurnEvent]]]], done: list[T]) -> None:
        try:
            async with TurnLease(self.s, self.lose):
                result, events = await work()
        finally:
            await self._settle_model(self.model.take_up())
            self._be_idle()
        done.append(result)
        for event in events:
            self._publish(event)
        if not self.is_busy:
            self._next()

    async def _settle_model(self, change: Awaitable[None]) -> None:
        """Change the model around what ran. Where that can't be, the person is told and the work goes on."""
        try:
            await change
        except UserError as error:
            self.tell(Level.WARNING, self._masked(str(error)))

    def _be_idle(self) -> None:
        self.state, self.working_since = Live.IDLE, None
        self._queue.add_early()

    def _came_to_nothing(self, error: str) -> CompactionEnded:
        tokens = self._compaction.tokens if self._compaction is not None else 0
        return CompactionEnded(self.s.stamp(), tokens, tokens, 0, error)

    # --- inside a turn

    async def _run(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded:
        """Publish a turn's events, and settle the turn if something stops it."""
        try:
            async with TurnLease(self.s, self.lose):
                outcome = self._interruption() if self._is_stopping else await self._follow(steps)
                if isinstance(outcome, TurnEnded):
                    return outcome
                return await asyncio.shield(self._finish(outcome or failure(UNFORESEEN)))
        except UserError as error:
            # The turn could not begin, or not even be settled: the next one, or the next opening, mends it.
            self._lost = error if isinstance(error, SessionDeleted | SentElsewhere) else self._lost
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, self._masked(str(error)))
        except Exception:
            log.exception("a turn of session %s could not be settled", self.id)
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, UNFORESEEN)

    async def _follow(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded | Stop | None:
        """Publish what happens until the turn ends by itself or is stopped; None for work that has no such end."""
        self._is_stoppable = True
        try:
            async with aclosing(steps) as events:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        return event
                    self._publish(event)
            if not self._is_turn:
                return None
        except asyncio.CancelledError:
            return self._interruption()
        except (SessionDeleted, SentElsewhere) as error:
            self._lost = error
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

    def _interruption(self) -> Stop:
        return Stop(Finish.INTERRUPTED, ExitReason.INTERRUPTED, self._cause)

    def _masked(self, sentence: str) -> str:
        return self.s.masking.text(sentence)

    async def _finish(self, stop: Stop) -> TurnEnded:
        if self._lost is not None:
            raise self._lost
        await self._settle(stop)
        has_begun = self._unstored is None
        if not stop.error and has_begun and self.s.rows and self.s.rows[-1].role is Role.USER:
            self._publish(await self.s.store_notice(Level.INFO, "Interrupted before an answer came."))
        if stop.error and has_begun:
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
                self._queue.add_early()
            case CaughtUp():
                self._queue.save_all()
            case CompactionStarted():
                self._compaction = event
            case CompactionEnded():
                self._compaction = None
                if self.is_busy and not self._is_turn:
                    self._compacted = event  # told when its lease is given back: then the next thing can begin
                    return
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
