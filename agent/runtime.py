"""One session at work: prompts in, a queue, an interrupt, and a turn that is always settled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.approvals.shell_verdict import Mode
from agent.begun_turn import SentElsewhere
from agent.elsewhere import WorkedIn, worked_in_now
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
from agent.providers.base import ErrorKind
from agent.session_model import SessionModel
from agent.session_options import SessionOptions, store_options
from agent.session_run import INTERRUPTED, UNFORESEEN, Doing, Live, SessionRun, Stop, around, failure
from agent.side_work import SideWork
from agent.tools import ask_user
from agent.turn_lease import BusyElsewhere, TurnLease
from agent.workspace import find_workspace
from session.errors import SessionDeleted, UserError
from session.models import Approval, ExitReason, Finish, Level, Role, Route, ToolCall
from session.settlement import Settlement, is_unsettled
from session.tables import Tables

log = logging.getLogger(__name__)

T = TypeVar("T")

PROCESS_DIED = "hermes ended before this was answered"


class Runtime:
    """Drives the turns of one session and publishes what happens in them."""

    def __init__(self, s: OpenSession, publish: Callable[[TurnEvent], None]) -> None:
        self.s = s
        self.model = SessionModel(s)
        self._queue = PromptQueue(s, self._hear_queue, self._say_trouble)
        self.queue_is_held = False  # what was queued before an interrupt or a failure waits for the person
        self._publish_to_hub = publish
        s.publish, s.take_steers = self._publish, self._queue.take_steers
        self._run = SessionRun(s)
        self._work = SideWork(s, self._run, self.model, self._queue, self.lose, self._go_on)
        self._asks_again = False  # the turn was left waiting by a process that died, and nobody has answered since
        self._unstored: Waiting | None = None  # the prompt of a turn that has not begun
        self.elsewhere: WorkedIn | None = None  # another process that works in the session, as far as it was heard of
        self._was_refused = False  # the last turn could not begin for that
        self._has_unsaved_options = False

    @property
    def id(self) -> str:
        return self.s.id

    @property
    def state(self) -> Live:
        return self._run.state

    @property
    def working_since(self) -> float | None:
        """On the clock of `time.monotonic`; None while nothing runs."""
        return self._run.working_since

    @property
    def is_busy(self) -> bool:
        return self._run.is_busy

    @property
    def is_deleted(self) -> bool:
        """Whether the session was deleted under us. What was said in it can still be read here."""
        return isinstance(self._run.lost, SessionDeleted)

    @property
    def queue(self) -> tuple[str, ...]:
        """What is not sent yet, the next one first."""
        return self._queue.texts

    @property
    def has_unsent(self) -> bool:
        """Whether something is not sent yet, or a change of what is not sent is on its way into the store."""
        return not self._queue.is_settled

    # --- what a person can do

    def submit(self, text: str, parts: str = "", images: Sequence[str] = ()) -> None:
        """Start a turn, or queue the text behind the one that runs. `images` are paths, read when the turn begins;
        `parts`, those of its row in the place of them, can't wait in line. Raises SessionBusy.
        """
        prompt = Waiting(text, images=tuple(images), parts=parts)
        if parts:
            self._run.refuse_busy()
        if not self._queue:
            self.queue_is_held = False  # what is typed after an interrupt was not held back by it
        if self._asks_again and self.state is Live.ASKING and not self._run.is_stopping:
            self._queue.add(prompt)
            self.interrupt(PROCESS_DIED, holds_queue=False)
        elif self.is_busy:
            self._queue.add(prompt)
        else:
            self._ask(prompt)

    def run_command(self, command: str) -> None:
        """Run a command as the person's own. Raises SessionBusy."""
        from agent.own_command import run_own_command  # all that a call needs: for the first of them

        self._run.refuse_busy()
        self._start(run_own_command(self.s, command), Doing.COMMAND)

    def steer(self, text: str) -> bool:
        """Tell the model that works something behind the next result, else with the next prompt. False where none works:
        nothing is done then."""
        if not self.is_busy or self._run.doing is not Doing.TURN or self._run.is_stopping:
            return False
        self._queue.add(Waiting(text, is_steer=True))
        return True

    @property
    def steers(self) -> frozenset[int]:
        """Which of the queued texts the model gets while it works."""
        return self._queue.steers

    def interrupt(self, cause: str = INTERRUPTED, *, holds_queue: bool = True) -> bool:
        """Stop the turn. What was queued waits for the person. False when nothing runs."""
        is_stopped = self._run.interrupt(cause)
        self.queue_is_held = self.queue_is_held or (is_stopped and holds_queue)
        return is_stopped

    def release_queue(self) -> None:
        """Send what an interrupt held back."""
        self.queue_is_held = False
        self._go_on()

    def take_back(self, index: int = -1) -> Waiting | None:
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
        from agent.context.compaction import compact  # what a start need not pay for

        self._work.compact(compact(self.s, Why.ASKED, focus))

    async def undo_compaction(self) -> None:
        """Bring back what the latest compaction took out. Raises SessionBusy, BusyElsewhere, and what `undo` raises."""
        from agent.context.compaction import undo

        async def undone() -> tuple[None, Sequence[TurnEvent]]:
            return None, await undo(self.s)

        await self.alone(undone)

    async def alone(self, work: Callable[[], Awaitable[tuple[T, Sequence[TurnEvent]]]]) -> T:
        """Do something to the session while no turn runs in it, here or elsewhere; its events are told when that is over.

        It comes to its end whoever stops waiting for it. Raises SessionBusy, BusyElsewhere, and what the work raises.
        """
        return await self._work.alone(work)

    # --- around a turn

    async def recover(self) -> None:
        """After opening: settle what a dead process left behind, ask again what nobody had answered, hold what was
        not sent."""
        try:
            is_waiting = await self._mend()
        except BusyElsewhere:
            self.elsewhere = await worked_in_now(self.s)
            return  # another process works in this session; there is nothing to mend, and its queue is its own
        self._queue.restore(await self._read(lambda tables: tables.queued.all(self.id)))
        self.queue_is_held = bool(self._queue)
        if is_waiting:
            self._asks_again = True
            from agent.turn import resume_turn

            self._start(resume_turn(self.s, self._unanswered()))

    async def close(self, cause: str) -> None:
        """End the turn, if one runs, and wait until it is settled. None begins behind it."""
        self.queue_is_held = True
        if self.interrupt(PROCESS_DIED if self._asks_again else cause):
            await self._run.ended()
        await self._queue.settled()

    def lose(self, error: UserError) -> None:
        """The session is not ours any more, or gone: the turn is stopped, and nothing of it is stored from now on."""
        self._run.lost = error
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

    def _ask(self, prompt: Waiting) -> None:
        self._unstored = prompt
        from agent.turn import run_turn  # loaded behind the first frame: a start need not pay for a turn

        self._start(run_turn(self.s, prompt.text, prompt.row_id, prompt.parts, prompt.images))

    def _start(self, steps: AsyncGenerator[TurnEvent, None], doing: Doing = Doing.TURN) -> None:
        self._run.begin(doing, self._drive(steps, doing))

    def _go_on(self) -> None:
        """Send what is next in line, if nothing runs or holds it back."""
        if not self.is_busy and self._queue.is_ready and not self.queue_is_held:
            self._ask(self._queue.next())

    def _hear_queue(self) -> None:
        """A text came into the queue: perhaps after the end of the turn that it was to wait for."""
        self._publish(QueueChanged(self.s.stamp()))
        self._go_on()

    def _say_trouble(self, error: UserError) -> None:
        said = f"The queued prompt would be lost if hermes ended now. {error}"
        self._publish(Notice(self.s.stamp(), Level.WARNING, self._masked(said)))

    async def _drive(self, steps: AsyncGenerator[TurnEvent, None], doing: Doing) -> None:
        """Run a turn or a command to its end. Whoever hears that it ended may at once begin the next."""
        self._was_refused = False
        await around(self.s, self.model.turn_begins())
        ended = await self._to_its_end(steps)
        await around(self.s, self.model.turn_ended() if doing is Doing.TURN else self.model.take_up())
        await around(self.s, self._save_options())
        self._asks_again = False
        if self._unstored is not None and not isinstance(self._run.lost, SentElsewhere):
            self._queue.put_back(self._unstored)  # a prompt that is not in the store is not lost
            self.queue_is_held = True
        self._unstored = None
        self._queue.end_steers()
        self._queue.add_early()
        self._work.end_compaction()
        self._publish(ended)
        self._go_on()

    # --- inside a turn

    async def _to_its_end(self, steps: AsyncGenerator[TurnEvent, None]) -> TurnEnded:
        """Publish a turn's events, and settle the turn if something stops it."""
        try:
            async with TurnLease(self.s, self.lose):
                outcome = await self._run.follow(steps)
                if isinstance(outcome, TurnEnded):
                    return outcome
                return await asyncio.shield(self._finish(outcome or failure(UNFORESEEN)))
        except UserError as error:
            # The turn could not begin, or not even be settled: the next one, or the next opening, mends it.
            if isinstance(error, SessionDeleted | SentElsewhere):
                self._run.lost = error
            if isinstance(error, BusyElsewhere):
                self._was_refused, self.elsewhere = True, await worked_in_now(self.s)
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, self._masked(str(error)))
        except Exception:
            log.exception("a turn of session %s could not be settled", self.id)
            return TurnEnded(self.s.stamp(), ExitReason.ERROR, ErrorKind.UNKNOWN, UNFORESEEN)

    def _masked(self, sentence: str) -> str:
        return self.s.masking.text(sentence)

    async def _finish(self, stop: Stop) -> TurnEnded:
        if self._run.lost is not None:
            raise self._run.lost
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
                self._run.state, self.elsewhere = Live.WORKING, None
            case RowStored(row=row) if row.role is Role.USER:
                self._unstored = None
                self._queue.add_early()
            case CaughtUp():
                self._queue.save_all()
            case CompactionStarted():
                self._work.hear_start(event)
            case CompactionEnded() if self._work.holds_back(event):
                return
            case RequestOpened():
                self._run.state = Live.ASKING
            case RequestSettled() if self.is_busy:  # one that is withdrawn at the opening starts nothing
                self._run.state, self._asks_again = Live.WORKING, False
            case TurnEnded(reason=reason):
                failed = reason in (ExitReason.ERROR, ExitReason.CUT)
                self._run.be_idle()
                self._run.state = Live.FAILED if failed and not self._was_refused else Live.IDLE
                self.queue_is_held = self.queue_is_held or failed
            case _:
                pass
        self._publish_to_hub(event)
