"""One open session as a turn sees it: its rows, and the only pen that writes them.

Every method that returns an event has made its row durable first, or the event says that the file takes no writes at the
moment and the row waits in memory. No secret goes through this pen: in rows and events its name stands for it. Two things
are kept as they were for as long as they are needed, in memory alone: what a person typed, for the model, and the calls of
the last answer, which run as they were written.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from agent.approvals.shell_verdict import Mode
from agent.backlog import Backlog, Caught
from agent.begun_turn import LEFT_OPEN, Beginning, last_row_id
from agent.call_ids import new_call_id, unique_calls
from agent.config.masking import Masking
from agent.context.gates import Pressure
from agent.context.meter import ContextFigure, Meter
from agent.context.terms import Terms
from agent.events import (
    AnswerRestarted,
    CaughtUp,
    Notice,
    ReasoningDelta,
    RequestSettled,
    RowsReplaced,
    RowStored,
    Stamp,
    TextDelta,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    UsageRead,
)
from agent.masked_rows import masked_part, masked_row
from agent.open_answer import OpenAnswer
from agent.parts import Parts
from agent.personality_marker import BEGINNING, as_typed, is_told_before, marked, marker_for
from agent.prompt_of_session import SessionPrompt, ready_prompt
from agent.providers.base import NOTHING, Delta, Reply, Restarting
from agent.session_options import SessionOptions
from agent.tools.base import Tool, Workplace
from session.errors import UserError
from session.memory_store import is_temporary
from session.models import (
    Approval,
    CallResult,
    ExitReason,
    Finish,
    Level,
    Message,
    Partial,
    Role,
    Route,
    Session,
    TitleSource,
    ToolCall,
    Usage,
)
from session.settlement import Settlement, settle
from session.tables import Tables
from session.titles import derive_title
from session.usage import day_of

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class OpenSession:
    """The live state of one session. `rows` mirrors the store as of `session.revision`, and within one only grows."""

    parts: Parts
    session: Session
    route: Route
    rows: list[Message]
    is_stored: bool = True
    opening_notice: str = ""  # said once, in the first stored row of a new session
    mode: Mode = Mode.ASK  # of this process alone: another one that works in the session has its own
    options: SessionOptions = field(default_factory=SessionOptions)
    turn_usage: Usage = field(default_factory=Usage)
    take_steers: Callable[[], Sequence[tuple[str, int]]] = tuple  # what was said to the model that works, with its row
    hear_model: Callable[[Session], None] = lambda _: None  # another process chose one: the row as it is now
    publish: Callable[[TurnEvent], None] = lambda _: None  # what happens to this session's rows outside of a step
    meter: Meter = field(default_factory=Meter)
    backlog: Backlog = field(init=False)
    speech: SessionPrompt = field(init=False)
    _seq: int = 0
    _answer: OpenAnswer | None = None  # the one under way
    _typed: dict[int, str] = field(default_factory=dict[int, str])  # by its row: a prompt with a secret in it

    def __post_init__(self) -> None:
        self.backlog = Backlog(self.parts.db, self.id, self._say, self._catch_up)
        self.speech = SessionPrompt(self.parts.prompts)

    # --- reading

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def last_row_id(self) -> int:
        return last_row_id(self.rows)

    @property
    def place(self) -> Workplace:
        return self.parts.place_for(self.session)

    @property
    def prompt(self) -> str:
        return self.speech.text

    @property
    def terms(self) -> Terms:
        """On what the rows would be sent now."""
        return self.terms_on(self.route)

    def terms_on(self, route: Route) -> Terms:
        return self.parts.terms(self.speech, route, self.options.tools_off)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that its model gets."""
        return self.parts.toolbox.tools_without(self.options.tools_off)

    def context(self) -> ContextFigure:
        return self.meter.figure(self.rows, self.session.anchors, self.terms)

    def pressure(self) -> Pressure:
        return self.meter.pressure(self.rows, self.session.anchors, self.terms)

    def told(self) -> Sequence[Message]:
        """The rows as a model gets them: with what the person typed here, also where a secret is in it."""
        if not self._typed:
            return self.rows
        return [as_typed(row, self._typed[row.id]) if row.id in self._typed else row for row in self.rows]

    @property
    def masking(self) -> Masking:
        return self.parts.secrets.masking

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._seq

    @property
    def is_behind(self) -> bool:
        """Whether the store lacks what was done here, because its file takes no writes."""
        return self.backlog.trouble is not None

    @property
    def loss(self) -> str:
        """What would be lost if hermes ended now, "" for nothing."""
        said = self.backlog.said
        if not said:
            return ""
        what = "1 message" if said == 1 else f"{said} messages"
        return f"{what} of session {self.id} could not be stored. {self.masking.text(str(self.backlog.trouble))}"

    def stamp(self) -> Stamp:
        self._seq += 1
        return Stamp(self.parts.profile, self.id, self._seq)

    async def write(self, change: Callable[[Tables], T], *, is_synced: bool = False) -> T:
        """Make a change, in the store or in the backlog. It is made even if the waiting task is cancelled."""
        return await asyncio.shield(self.backlog.put(change, is_synced=is_synced))

    # --- one step each of a turn

    async def begin(
        self, text: str, queued_id: int = 0, parts: str = "", calls: tuple[ToolCall, ...] = ()
    ) -> list[TurnEvent]:
        """Store what the person asked, with the session itself if this is its first row, in place of its queued text.
        `calls` is the command that they run themselves instead.

        Another process may have worked here since the last turn, or the last one could not be settled: what is new in
        the store comes into memory first, and is legal by then. Rows that were taken out meanwhile leave it.
        """
        await ready_prompt(self)
        self._finish_answer()
        known_id, said = self.last_row_id, self._said
        self.turn_usage = Usage()
        spoken = self.speech.personality
        name, summed_up = spoken.name if spoken else "", await self._summed_up_marker()
        marker = "" if calls else marker_for(name, self.rows, summed_up)
        asked = self._masked(marked(replace(self._row(Role.USER, text), parts=parts, calls=calls), marker))
        is_new = not self.is_stored
        beginning = Beginning(
            session=self._titled(asked.content) if is_new else self.session,
            is_new=is_new,
            source=self.parts.source,
            prompt=self.masking.text(self.speech.base),
            known_id=lambda: self.backlog.id_now(known_id),
            said=said,
            notices=self._unsaid_notices(),
            asked=asked,
            queued_id=queued_id,
        )
        begun = await self.write(beginning.store)
        if begun.session.route != self.session.route:
            self.hear_model(begun.session)
        self.session, self._answer = begun.session, None
        if begun.standing is not None:
            self.rows = [self._masked(row) for row in begun.standing]
        if asked.content != text:
            self._typed[self.backlog.id_now(begun.asked_id)] = text
        replaced = [] if begun.standing is None else [RowsReplaced(self.stamp())]
        withdrawn = self._withdrawn(begun.settled, LEFT_OPEN) if begun.settled else []
        return [TurnStarted(self.stamp()), *replaced, *withdrawn, *(self.remember(row) for row in begun.rows)]

    async def _summed_up_marker(self) -> str:
        if not (self.is_stored and is_told_before(self.rows)):
            return ""
        read = self.parts.db.read(lambda tables: tables.messages.last_compacted_sent(self.id, BEGINNING))
        return await asyncio.wrap_future(read)

    def _unsaid_notices(self) -> list[Message]:
        """What a person has to be told before the turn, and was not told in this conversation yet."""
        told = [(Level.INFO, self.opening_notice), *((Level.WARNING, text) for text in self.speech.notices())]
        said = {row.content for row in self.rows if row.role is Role.NOTICE}
        rows = [self._masked(replace(self._row(Role.NOTICE, text), level=level)) for level, text in told if text]
        return [row for row in rows if row.content not in said or row.content == self.opening_notice]

    def _titled(self, asked: str) -> Session:
        """A new session under the name that a person gave it before its first prompt, else under what they ask."""
        is_named = self.session.title_source is TitleSource.PERSON
        return self.session if is_named else replace(self.session, title=derive_title(asked))

    async def resume(self) -> TurnEvent:
        """Go on with a turn that a dead process left waiting for an answer."""
        self.turn_usage = Usage()
        return TurnStarted(self.stamp())

    def live(self, part: Delta) -> list[TurnEvent]:
        """A delta as events. What it says is saved at most twice a second, so that a kill costs little."""
        if isinstance(part, Restarting):
            self._answer = None
            self._later(lambda tables: tables.partials.clear(self.id))
            reason = self.masking.text(part.reason)
            return [AnswerRestarted(self.stamp(), part.attempt, part.attempts, reason, part.wait_s)]
        if self._answer is None:
            self._answer = OpenAnswer(self.masking)
        piece, at = self._answer.add(part), time.time()
        if unsaved := self._answer.unsaved():
            self._later(lambda tables: tables.partials.append(self.id, unsaved, at))
        return self._deltas(piece)

    async def store_reply(self, reply: Reply) -> tuple[list[TurnEvent], tuple[ToolCall, ...]]:
        """Make the answer a row, which takes the place of the partial text; its calls as they are to run."""
        row = replace(
            self._row(Role.ASSISTANT, reply.content),
            reasoning=reply.reasoning,
            refusal=reply.refusal,
            finish=reply.finish,
            usage=reply.usage,
            extras=reply.extras,
        )

        route, own_ids = self.route, [new_call_id() for _ in reply.calls]
        terms, counted = self.terms, replace(row, calls=reply.calls)
        noted = self.meter.note_answer(self.rows, self.session.anchors, counted, terms, is_compacted=reply.is_compacted)

        def store(tables: Tables) -> tuple[Message, tuple[ToolCall, ...]]:
            tables.partials.clear(self.id)
            used = reply.usage or Usage()  # a call is one also where its server counts nothing
            tables.usage.add(self.id, route.provider, route.model, day_of(row.created_at), "", used)
            tables.sessions.set_anchors(self.id, noted.column)
            calls = unique_calls(reply.calls, tables.calls.used_ids(self.id), own_ids) if reply.calls else ()
            return tables.messages.append(self._masked(replace(row, calls=calls))), calls

        stored, calls = await self._write_answer(store)
        self.session = replace(self.session, anchors=noted.column)
        if noted.lesson is not None:
            self.parts.weights.learn(route, noted.lesson.features, noted.lesson.tokens)
        events = [*self._finish_answer(), self.remember(stored)]
        self._answer = None
        if reply.usage is not None:
            self.turn_usage += reply.usage
            events.append(UsageRead(self.stamp(), reply.usage, self.turn_usage, self.context()))
        return events, calls

    async def store_result(self, text: str, result: CallResult) -> TurnEvent:
        """Make a call's one result a row."""
        return self.remember(await self.append_result(text, result))

    async def append_result(self, text: str, result: CallResult) -> Message:
        """The same unannounced, while the turn is being stopped: settling it announces what was stored meanwhile."""
        row = self._masked(replace(self._row(Role.TOOL, text), result=result))
        return await self.write(lambda tables: tables.messages.append(row))

    async def store_notice(self, level: Level, text: str) -> TurnEvent:
        row = self._masked(replace(self._row(Role.NOTICE, text), level=level))
        return self.remember(await self.write(lambda tables: tables.messages.append(row)))

    async def end(self, reason: ExitReason) -> TurnEvent:
        """Close a turn that ended by itself."""
        now = time.time()
        await self.write(lambda tables: tables.turns.end(self.id, reason, now))
        return TurnEnded(self.stamp(), reason)

    async def settle(
        self, finish: Finish, cause: str, reason: ExitReason, *, keep_waiting: bool = False, part: Partial = NOTHING
    ) -> tuple[Settlement, list[TurnEvent]]:
        """Make a turn that was stopped legal, and catch up with the store: what was being written by then is in it.

        `part` is what is known of the answer where nothing of it was said since its last restart.
        """
        rest = self._finish_answer()
        now, known_id, said = time.time(), self.last_row_id, self._said or masked_part(self.masking, part)

        def mend(tables: Tables) -> tuple[Settlement, list[Message], Session | None]:
            tables.partials.put(self.id, said, now)
            settled = settle(
                tables, self.id, finish=finish, cause=cause, at=now, keep_waiting=keep_waiting, reason=reason
            )
            rows = tables.messages.after(self.id, self.backlog.id_now(known_id))
            return settled, rows, tables.sessions.get(self.id)

        settled, rows, stored = await self.write(mend)
        self._answer = None
        if stored is not None:  # an answer may have become a row for which nobody waited any more
            self.session = replace(self.session, anchors=stored.anchors)
        return settled, [*rest, *self._withdrawn(settled, cause), *(self.remember(row) for row in rows)]

    def remember(self, row: Message) -> TurnEvent:
        """Take a stored row into memory and announce it."""
        self.is_stored, self.opening_notice = True, ""
        row = replace(row, id=self.backlog.id_now(row.id))
        self.rows.append(row)
        return RowStored(self.stamp(), row, durable=not is_temporary(row.id))

    # --- inside

    def _row(self, role: Role, content: str) -> Message:
        return Message(session_id=self.id, role=role, content=content, created_at=time.time())

    def _masked(self, row: Message) -> Message:
        return masked_row(self.masking, row)

    def _withdrawn(self, settled: Settlement, cause: str) -> list[TurnEvent]:
        return [RequestSettled(self.stamp(), asked, Approval.CANCELLED, cause) for asked in settled.withdrawn]

    @property
    def _said(self) -> Partial:
        return self._answer.said if self._answer and not self._answer.is_handed_over else NOTHING

    def _finish_answer(self) -> list[TurnEvent]:
        """Nothing more comes of the answer under way: what was held back of it is said."""
        return self._deltas(self._answer.finish()) if self._answer else []

    def _deltas(self, piece: Partial) -> list[TurnEvent]:
        events: list[TurnEvent] = []
        if piece.reasoning:
            events.append(ReasoningDelta(self.stamp(), piece.reasoning))
        events += [TextDelta(self.stamp(), text) for text in (piece.content, piece.refusal) if text]
        return events

    async def _write_answer(self, store: Callable[[Tables], T]) -> T:
        """Make the open answer a row, which it becomes even if nobody waits for that any more."""
        answer = self._answer or OpenAnswer(self.masking)
        answer.is_handed_over = True
        try:
            return await self.write(store)
        except UserError:
            answer.is_handed_over = False
            raise

    def _later(self, change: Callable[[Tables], object]) -> None:
        """A write nobody waits for; the backlog keeps the order."""
        self.backlog.put(change).add_done_callback(_log_failure)

    def _say(self, level: Level, text: str) -> None:
        self.publish(Notice(self.stamp(), level, self.masking.text(text)))

    def _catch_up(self, caught: Caught) -> None:
        """What waited is stored: the rows get the ids they have there."""
        ids = caught.ids
        self.rows = [replace(row, id=ids[row.id]) if row.id in ids else row for row in self.rows]
        self._typed = {ids.get(id_, id_): text for id_, text in self._typed.items()}
        if caught.session is not None:
            title, source = self.masking.text(caught.session.title), caught.session.title_source
            self.session = replace(self.session, title=title, title_source=source)
        self.publish(CaughtUp(self.stamp(), ids))


def _log_failure(task: asyncio.Task[object]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.warning("a checkpoint of the open answer was not saved: %s", error)
