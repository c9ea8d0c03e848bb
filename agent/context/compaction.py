"""Making a conversation smaller: a summary takes the place of most of it, in one step that can be undone.

Until that step nothing is changed, whatever happens; from it on the conversation is the new one, whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from math import ceil
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from agent.backlog import under
from agent.context.checkpoint import CheckpointRefused, take_checkpoint
from agent.context.features import of_row
from agent.context.meter import Meter
from agent.context.plan import EMPTY, FITS, OVERHEAD, CompactionPlan, plan
from agent.context.record import HELD, Record, column_of, record_of
from agent.context.summary import NoSummary, summarise
from agent.context.summary_text import outline, summary_text, tasks_in
from agent.context.terms import Terms
from agent.context.threshold import Budget, budget
from agent.context.words import compacted_sentence, tokens
from agent.events import CompactionEnded, CompactionStarted, Notice, RowsReplaced, TurnEvent, Why
from agent.masked_rows import masked_row
from agent.open_session import OpenSession
from agent.route_settings import longest_answer
from agent.tools.todo import NAME, todo_of
from session.connection import Patience
from session.errors import (
    BusyDatabase,
    ConversationMoved,
    DamagedRow,
    FailedWrite,
    NotInConversation,
    SessionDeleted,
    UnusableCut,
    UserError,
)
from session.lineage import Swapped
from session.models import ApiMode, Level, Message, Role, Session
from session.tables import Tables

T = TypeVar("T")

UNDONE = "The compaction was undone: {what} back. From now on only /compact compacts this conversation."
OUTLINED = "{reason} An outline of the last of it stands in its place instead of a summary."
LEAST_ASKED = 2_000  # tokens of a conversation, below which nothing is gained


class NothingToCompact(UserError):
    """No plan makes the conversation smaller; `reason` is the plan's own sentence."""


class NotStorable(UserError):
    """The file takes no writes at the moment, and a summary is put in no conversation that may yet be lost."""

    sentence = "The conversation is not compacted while it can't be stored. {reason}"


REASONS = (
    NothingToCompact,
    NotStorable,
    CheckpointRefused,
    ConversationMoved,
    NotInConversation,
    UnusableCut,
    DamagedRow,
    FailedWrite,
    BusyDatabase,
)


class Made(Struct, frozen=True):
    """What takes the place of the middle of a plan. `warning` says why no model made it, "" where one did."""

    text: str = ""
    warning: str = ""


async def plan_of(s: OpenSession, why: Why = Why.ASKED) -> CompactionPlan:
    """What a compaction would do now. Nothing is asked or changed."""
    terms, rows = s.terms, list(s.rows)
    fixed, used = s.meter.fixed_tokens(terms), s.context().used if why is Why.ASKED else s.pressure().used
    said = max(0, used - fixed)
    if why is Why.ASKED and said < LEAST_ASKED:
        why_not = _too_little(rows, said, fixed, terms)
        return CompactionPlan((), (), rows, tail_tokens=said, fixed_tokens=fixed, why_not=why_not)
    shared = _budget(s, why, used, fixed)
    thinking = _rows_of_turn(rows) if terms.echoes and why is not Why.ASKED else frozenset[int]()

    def price(row: Message) -> int:
        return _price(row, terms, with_thinking=row.id in thinking)

    def made() -> CompactionPlan:
        # A row is priced by an estimate, the whole of them often by its server: the parts have to make up the whole.
        scale = said / max(1, sum(map(price, rows)))
        return plan(rows, shared, lambda row: ceil(scale * price(row)), fixed)

    return await asyncio.to_thread(made)


async def compact(s: OpenSession, why: Why, focus: str = "") -> AsyncGenerator[TurnEvent, None]:
    """Yields what happens. What it came to is published in the very step that changes the rows: nobody who stops the
    turn in that moment sees one without the other.

    Raises what a write raises that lost its session.
    """
    before = s.context().used if why is Why.ASKED else s.pressure().used
    record = record_of(s.session.compaction)
    yield CompactionStarted(s.stamp(), why, before)
    try:
        planned = await _planned(s, why)
        made = await _made(s, why, planned, before, focus)
        since = Record() if why is Why.ASKED else record
        await whole(_swap(s, planned, made, before, since.compacted(is_outline=bool(made.warning))))
        return
    except NoSummary as failure:
        record, error = record.failed(failure.failure, time.time()), failure
    except NothingToCompact as nothing:
        record, error = record if why is Why.ASKED else record.found_nothing(), nothing
    except REASONS as reason:
        record, error = record.refused(time.time()), reason
    sentence = s.masking.text(str(error))
    await remember(s, record)
    if not s.is_stored:
        yield Notice(s.stamp(), Level.WARNING, sentence)
    elif why is Why.ASKED or not is_said(s, sentence):
        yield await s.store_notice(Level.WARNING, sentence)
    yield CompactionEnded(s.stamp(), before, before, 0, sentence)


async def undo(s: OpenSession) -> list[TurnEvent]:
    """Bring back what the latest compaction took out, and tell it.

    Raises NoCompactionToUndo, AnsweredSinceCompaction, NotStorable, and what a write raises.
    """

    def change(tables: Tables) -> Changed:
        undone = tables.lineage.undo_swap(s.id)
        tables.sessions.set_compaction(s.id, column_of(HELD))
        what = "1 message is" if undone.rows == 1 else f"{undone.rows:,} messages are"
        return _changed(s, tables, undone, _notice(s, Level.INFO, UNDONE.format(what=what)))

    changed = await whole(_write(s, change))
    # All that came back is counted anew, in a meter of its own: that of the session is asked on the loop meanwhile.
    meter, terms = Meter(), s.terms
    await asyncio.to_thread(meter.figure, changed.rows, changed.session.anchors, terms)
    s.meter = meter
    return _adopted(s, changed)


async def remember(s: OpenSession, record: Record) -> None:
    """Keep what the next compaction depends on."""
    column = column_of(record)
    if column == s.session.compaction:
        return
    s.session = replace(s.session, compaction=column)
    if s.is_stored:
        await s.write(lambda tables: tables.sessions.set_compaction(s.id, column))


def is_said(s: OpenSession, text: str) -> bool:
    """Whether the conversation tells it already: what holds for every request is said once."""
    return any(row.role is Role.NOTICE and row.content == text for row in s.rows)


async def whole(step: Coroutine[object, object, T]) -> T:
    """Let a step come to its end although the task is cancelled meanwhile; it is cancelled behind it."""
    task = asyncio.create_task(step)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it was stopped, and nobody asks any more why it had failed
        raise


# --- the plan


async def _planned(s: OpenSession, why: Why) -> CompactionPlan:
    """Raises NothingToCompact or NotStorable."""
    if s.backlog.trouble is not None:
        raise NotStorable(reason=s.backlog.trouble)
    planned = await plan_of(s, why)
    if planned.why_not:
        raise NothingToCompact(reason=planned.why_not)
    return planned


def _budget(s: OpenSession, why: Why, used: int, fixed: int) -> Budget:
    """What a person asks for makes the conversation smaller whatever its window; so does what its server refused."""
    settings, longest = s.parts.settings.compression, longest_answer(s.parts.settings, s.route)
    window = s.terms.window
    if why is Why.ASKED:
        said = budget(min(used, window or used) - fixed, None, settings)
        return replace(said, threshold=said.threshold + fixed)
    if why is Why.REFUSED or window is None:
        window = min(used, window or used)
    return budget(window, longest, settings)


def _too_little(rows: Sequence[Message], said: int, fixed: int, terms: Terms) -> str:
    """Why a conversation of so few tokens is not compacted, though it may fill its window together with the rest."""
    if all(row.role is Role.NOTICE for row in rows):
        return EMPTY
    if terms.threshold is not None and fixed >= terms.threshold:
        return OVERHEAD.format(fixed=fixed, threshold=terms.threshold)
    return FITS.format(tokens=said)


def _rows_of_turn(rows: Sequence[Message]) -> frozenset[int]:
    """The ids of the rows behind the last prompt: the thinking in them goes along with the next request."""
    last = max((place for place, row in enumerate(rows) if row.is_prompt), default=-1)
    return frozenset(row.id for row in rows[last + 1 :])


def _price(row: Message, terms: Terms, *, with_thinking: bool = False) -> int:
    return terms.weights.tokens(of_row(row, with_thinking=with_thinking))


# --- what is put there


async def _made(s: OpenSession, why: Why, planned: CompactionPlan, before: int, focus: str) -> Made:
    """Raises NoSummary, CheckpointRefused."""
    if s.parts.settings.compression.checkpoint_required:
        await take_checkpoint(s, planned)
    if not planned.middle:
        return Made()
    try:
        summary, warning = await summarise(s, planned, focus), ""
    except NoSummary as failure:
        if not _takes_outline(s, why, before):
            raise
        summary = s.masking.text(await asyncio.to_thread(outline, planned.middle))
        warning = OUTLINED.format(reason=failure)
    return Made(summary_text(summary, _tasks(planned), is_within_turn=planned.is_within_turn), warning)


def _tasks(planned: CompactionPlan) -> str:
    """The list of steps, unless it stands in what is kept: from the call that made it, or the summary that held it."""
    if any(call.name == NAME for row in (*planned.head, *planned.tail) for call in row.calls):
        return ""
    if any(call.name == NAME for row in planned.middle for call in row.calls):
        return todo_of(planned.middle)
    return next((tasks_in(row) for row in planned.middle if row.is_summary), "")


def _takes_outline(s: OpenSession, why: Why, before: int) -> bool:
    """Whether the conversation could not go on without any summary. The demo makes none, and shows what one looks like."""
    if s.route.api_mode is ApiMode.DEMO:
        return True
    window = s.terms.window
    is_too_large = why is Why.REFUSED or (why is Why.FULL and window is not None and before >= window)
    return is_too_large and not s.parts.settings.compression.abort_on_summary_failure


# --- the step


class Changed(Struct, frozen=True):
    """The session as it stands in the store after the step, and what is to be told of it."""

    session: Session
    rows: list[Message]
    notice: Message
    swapped: Swapped


async def _swap(s: OpenSession, planned: CompactionPlan, made: Made, before: int, record: Record) -> None:
    """The one step. Raises what `lineage.swap` raises, and what a write raises."""
    summary = masked_row(s.masking, Message(s.id, Role.USER, made.text, time.time()))
    shortened = {row.id: row.sent for row in planned.cut}
    terms, revision = s.terms, s.session.revision
    summary_tokens = _price(summary, terms) if planned.middle else 0
    after = planned.before - planned.middle_tokens - planned.cut_tokens + summary_tokens

    def change(tables: Tables) -> Changed:
        if planned.middle:
            ends = planned.middle[0].id, planned.tail[0].id
            swapped = tables.lineage.swap(s.id, *ends, summary, revision, shortened)
        else:
            swapped = tables.lineage.shorten(s.id, shortened, revision)
        tables.sessions.set_compaction(s.id, column_of(record))
        level = Level.WARNING if made.warning else Level.INFO
        return _changed(s, tables, swapped, _notice(s, level, _told(swapped, made, before, after)))

    changed = await _write(s, change)
    s.speech.invalidate()  # what servers had read of the conversation is gone all the same
    for event in _adopted(s, changed):
        s.publish(event)
    s.publish(CompactionEnded(s.stamp(), before, after, changed.swapped.rows))


async def _write(s: OpenSession, change: Callable[[Tables], T]) -> T:
    """Into the file or not at all. Raises NotStorable while other changes wait for it: they would not follow on this one."""
    if s.backlog.trouble is not None:
        raise NotStorable(reason=s.backlog.trouble)
    written = s.parts.db.write(under(s.backlog.claim, change), patience=Patience.TRANSCRIPT)
    return await asyncio.wrap_future(written)


def _changed(s: OpenSession, tables: Tables, swapped: Swapped, notice: Message) -> Changed:
    rows = [masked_row(s.masking, row) for row in tables.messages.all(s.id)]
    stored, session = tables.messages.append(notice), tables.sessions.get(s.id)
    if session is None:
        raise SessionDeleted(session_id=s.id)
    return Changed(session, rows, stored, swapped)


def _adopted(s: OpenSession, changed: Changed) -> list[TurnEvent]:
    """Take the rows into memory as they stand now."""
    stored = changed.session
    s.session = replace(s.session, revision=stored.revision, anchors=stored.anchors, compaction=stored.compaction)
    s.rows = list(changed.rows)
    s.place.seen.forget_shown()
    return [RowsReplaced(s.stamp()), s.remember(changed.notice)]


def _notice(s: OpenSession, level: Level, text: str) -> Message:
    return masked_row(s.masking, Message(s.id, Role.NOTICE, text, time.time(), level=level))


def _told(swapped: Swapped, made: Made, before: int, after: int) -> str:
    if swapped.summary is not None:
        return f"{compacted_sentence(before, after, swapped.rows)} {made.warning}".strip()
    what = "1 result" if swapped.rows == 1 else f"{swapped.rows:,} results"
    return (
        f"Compacted from {tokens(before)} to about {tokens(after)} tokens: {what} of tools became shorter for the model. "
        "/compact undo makes them whole again until the next answer."
    )
