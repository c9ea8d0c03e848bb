"""One open session as a turn sees it: its rows, and the only pen that writes them.

Every method that returns an event has made its row durable first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from agent.approvals.inbox import Inbox
from agent.config.secrets import Secrets
from agent.config.settings import Settings
from agent.context.meter import ContextFigure, measure
from agent.events import (
    AnswerRestarted,
    ReasoningDelta,
    RequestSettled,
    RowStored,
    Stamp,
    TextDelta,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    UsageRead,
)
from agent.prompt import system_prompt
from agent.providers.base import NOTHING, Delta, Provider, ReasoningPart, RefusalPart, Reply, Restarting, TextPart
from agent.tools.base import Tool, Touch, Workplace
from session.db import SessionDB
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
    ToolCall,
    Usage,
)
from session.partials import joined
from session.settlement import Settlement, settle
from session.tables import Tables
from session.titles import derive_title

log = logging.getLogger(__name__)

T = TypeVar("T")

SameCall = tuple[str, str, Touch]  # the tool, its arguments, and what they reached when they were judged

CHECKPOINT_S = 0.5  # how much streamed text a kill may cost
LEFT_OPEN = "its turn could not be finished"


class Parts(Struct, frozen=True):
    """What every session of a profile shares."""

    profile: str
    db: SessionDB
    settings: Settings
    inbox: Inbox
    tools: Mapping[str, Tool]
    tool_definitions: Sequence[dict[str, object]]
    provider_for: Callable[[Route], Provider]
    place_for: Callable[[Session], Workplace]
    extras_for: Callable[[Route], Mapping[str, object]]  # what the config adds to a request's body
    secrets: Secrets
    is_attended: bool  # whether there is a person to ask


@dataclass(slots=True)
class OpenSession:
    """The live state of one session. `rows` mirrors the store and is only ever appended to."""

    parts: Parts
    session: Session
    route: Route
    rows: list[Message]
    is_stored: bool = True
    opening_notice: str = ""  # said once, in the first stored row of a new session
    allowed: set[SameCall] = field(default_factory=set[SameCall])  # what may run again unasked in this session
    turn_usage: Usage = field(default_factory=Usage)
    _seq: int = 0
    _said: list[Partial] = field(default_factory=list[Partial])  # the answer under way, piece by piece
    _saved: int = 0  # how many of its pieces were handed to the store
    _saved_at: float = 0.0

    # --- reading

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def last_row_id(self) -> int:
        return self.rows[-1].id if self.rows else 0

    @property
    def place(self) -> Workplace:
        return self.parts.place_for(self.session)

    @property
    def prompt(self) -> str:
        return system_prompt(self.session, self.parts.settings.agent.system_prompt)

    def context(self) -> ContextFigure:
        return measure(self.rows, self.route, self.prompt)

    def stamp(self) -> Stamp:
        self._seq += 1
        return Stamp(self.parts.profile, self.id, self._seq)

    async def write(self, change: Callable[[Tables], T]) -> T:
        """Run a change on the writer thread. The change is finished even if the waiting task is cancelled."""
        return await asyncio.wrap_future(self.parts.db.write(change))

    # --- one step each of a turn

    async def begin(self, text: str) -> list[TurnEvent]:
        """Store what the person asked, with the session itself if this is its first row.

        Another process may have worked here since the last turn, or the last one could not be settled: what is new in
        the store comes into memory first, and is legal by then.
        """
        now, known_id, said = time.time(), self.last_row_id, joined(self._said)
        self.turn_usage = Usage()
        asked = [self._row(Role.NOTICE, self.opening_notice)] if self.opening_notice else []
        asked.append(self._row(Role.USER, text))
        is_new = not self.is_stored
        if is_new:
            self.session = replace(self.session, title=derive_title(text))

        def store(tables: Tables) -> tuple[Settlement | None, list[Message]]:
            if is_new:
                tables.sessions.create(self.session)
            settled = None
            if tables.turns.open_since(self.id) is not None:
                keep(tables, self.id, said, known_id)
                settled = settle(tables, self.id, finish=Finish.CUT, cause=LEFT_OPEN, at=now, keep_waiting=False)
            tables.turns.begin(self.id, now)
            for row in asked:
                tables.messages.append(row)
            return settled, tables.messages.after(self.id, known_id)

        settled, stored = await self.write(store)
        self._forget_answer()
        withdrawn = self._withdrawn(settled, LEFT_OPEN) if settled else []
        return [TurnStarted(self.stamp()), *withdrawn, *(self.remember(row) for row in stored)]

    async def resume(self) -> TurnEvent:
        """Go on with a turn that a dead process left waiting for an answer."""
        self.turn_usage = Usage()
        return TurnStarted(self.stamp())

    def live(self, part: Delta) -> TurnEvent:
        """A delta as an event. What it says is saved at most twice a second, so that a kill costs little."""
        match part:
            case TextPart(text):
                self._keep(Partial(content=text))
                return TextDelta(self.stamp(), text)
            case ReasoningPart(text):
                self._keep(Partial(reasoning=text))
                return ReasoningDelta(self.stamp(), text)
            case RefusalPart(text):
                self._keep(Partial(refusal=text))
                return TextDelta(self.stamp(), text)
            case Restarting(attempt, attempts, reason, wait_s):
                self._forget_answer()
                self._later(lambda tables: tables.partials.clear(self.id))
                return AnswerRestarted(self.stamp(), attempt, attempts, self.parts.secrets.mask(reason), wait_s)

    async def store_reply(self, reply: Reply) -> list[TurnEvent]:
        """Make the answer a row; it takes the place of the partial text."""
        row = replace(
            self._row(Role.ASSISTANT, reply.content),
            reasoning=reply.reasoning,
            refusal=reply.refusal,
            finish=reply.finish,
            usage=reply.usage,
        )

        def store(tables: Tables) -> Message:
            tables.partials.clear(self.id)
            calls = unique_calls(reply.calls, tables.calls.used_ids(self.id)) if reply.calls else ()
            return tables.messages.append(replace(row, calls=calls))

        stored = await self.write(store)
        self._forget_answer()
        events: list[TurnEvent] = [self.remember(stored)]
        if reply.usage is not None:
            self.turn_usage += reply.usage
            events.append(UsageRead(self.stamp(), reply.usage, self.turn_usage, self.context()))
        return events

    async def store_result(self, text: str, result: CallResult) -> TurnEvent:
        """Make a call's one result a row."""
        return self.remember(await self.append_result(text, result))

    async def append_result(self, text: str, result: CallResult) -> Message:
        """The same unannounced, while the turn is being stopped: settling it announces what was stored meanwhile."""
        row = replace(self._row(Role.TOOL, text), result=result)
        return await self.write(lambda tables: tables.messages.append(row))

    async def store_notice(self, level: Level, text: str) -> TurnEvent:
        row = replace(self._row(Role.NOTICE, self.parts.secrets.mask(text)), level=level)
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
        now, known_id, said = time.time(), self.last_row_id, joined(self._said) or part

        def mend(tables: Tables) -> tuple[Settlement, list[Message]]:
            keep(tables, self.id, said, known_id)
            settled = settle(
                tables, self.id, finish=finish, cause=cause, at=now, keep_waiting=keep_waiting, reason=reason
            )
            return settled, tables.messages.after(self.id, known_id)

        settled, rows = await self.write(mend)
        self._forget_answer()
        return settled, [*self._withdrawn(settled, cause), *(self.remember(row) for row in rows)]

    def remember(self, row: Message) -> TurnEvent:
        """Take a stored row into memory and announce it."""
        self.is_stored, self.opening_notice = True, ""
        self.rows.append(row)
        return RowStored(self.stamp(), row)

    # --- inside

    def _row(self, role: Role, content: str) -> Message:
        return Message(session_id=self.id, role=role, content=content, created_at=time.time())

    def _withdrawn(self, settled: Settlement, cause: str) -> list[TurnEvent]:
        return [RequestSettled(self.stamp(), asked, Approval.CANCELLED, cause) for asked in settled.withdrawn]

    def _keep(self, more: Partial) -> None:
        self._said.append(more)
        now = time.monotonic()
        if now - self._saved_at < CHECKPOINT_S:
            return
        unsaved, at = joined(self._said[self._saved :]), time.time()
        self._saved, self._saved_at = len(self._said), now
        self._later(lambda tables: tables.partials.append(self.id, unsaved, at))

    def _forget_answer(self) -> None:
        self._said, self._saved = [], 0

    def _later(self, change: Callable[[Tables], object]) -> None:
        """A write nobody waits for; the writer thread keeps the order."""
        self.parts.db.write(change).add_done_callback(_log_failure)


def _log_failure(future: Future[object]) -> None:
    error = future.exception()
    if error is not None:
        log.warning("a checkpoint of the open answer was not saved: %s", error)


def keep(tables: Tables, session_id: str, said: Partial, known_id: int) -> None:
    """Put the whole of an open answer in the place of its checkpoints, of which a full disk may have refused some.

    Nothing is kept of an answer that became a row after `known_id`.
    """
    became_row = any(row.role is Role.ASSISTANT for row in tables.messages.after(session_id, known_id))
    if said and not became_row:
        tables.partials.clear(session_id)
        tables.partials.append(session_id, said, time.time())


def unique_calls(calls: Sequence[ToolCall], taken: set[str]) -> tuple[ToolCall, ...]:
    """Calls whose ids are new in the session; a server may send "dup" in every answer (A10)."""
    unique: list[ToolCall] = []
    used = set(taken)
    for call in calls:
        own = call if call.id and call.id not in used else replace(call, id=f"call_{uuid4().hex[:12]}")
        used.add(own.id)
        unique.append(own)
    return tuple(unique)


def ending_of(reply: Reply) -> ExitReason:
    """How a turn ends with an answer that calls no tool."""
    match reply.finish:
        case Finish.LENGTH:
            return ExitReason.LENGTH
        case Finish.CONTENT_FILTER:
            return ExitReason.REFUSED
        case _:
            return ExitReason.COMPLETED
