"""Back to something the person said, with the files as they were then, or another way from there in a branch.

Each verb works in one order. The restore of files is recorded; then one transaction changes the rows and notes that the
restore is under way; then the files are changed. So a kill leaves all as it was, or something to be finished: the next
opening of the session does the rest of what was recorded, before anything else can be said there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.backlog import under
from agent.begun_turn import last_row_id
from agent.context.meter import Meter
from agent.elsewhere import Known, known_of
from agent.events import RestoreMoved, RowsReplaced, TurnEvent
from agent.masked_rows import masked_row
from agent.open_session import OpenSession
from agent.personality_marker import unmarked
from agent.runtime import Runtime
from agent.turn_lease import BusyElsewhere
from session.connection import Patience
from session.errors import NotAPrompt, NothingToUndo, SessionDeleted, UserError
from session.lineage import exact_text, place_of
from session.models import Message, Role, Session, TitleSource
from session.sessions import new_session_id
from session.state import RESTORING
from session.tables import Tables

if TYPE_CHECKING:
    from agent.checkpoints.plan import RestorePlan
    from agent.checkpoints.putting import NotRestored
    from agent.checkpoints.restore import Noted

T = TypeVar("T")

log = logging.getLogger(__name__)

TOLD_S = 0.25  # between two words of how far a restore is
WENT_ON = (
    "The files of a rewind were not all restored when hermes ended, and the conversation went on since: "
    "the rest of them are left as they are."
)


class WentOn(UserError):
    """The conversation is not what the person was shown of it."""

    sentence = "This conversation went on meanwhile, so nothing was changed. Look at it, then try again."


class NotRewindable(UserError):
    """The file takes no writes at the moment."""

    sentence = "No conversation is rewound or branched while it can't be stored, so nothing was changed. {reason}"


class NothingToBranch(UserError):
    """Nothing was said before the place at which to branch."""

    sentence = "Nothing stands before that place, so there is nothing to branch. Start a new session with /new."


class Scope(StrEnum):
    """What of a session goes back."""

    BOTH = "both"
    CONVERSATION = "conversation"
    FILES = "files"


class Preview(Struct, frozen=True):
    """What going back to before `prompt` would come to: `rows` leave the conversation, files as `plan` says.

    `text` is the prompt as it was typed. `problem` is why no file can be restored, "" where nothing is in the way.
    """

    prompt: Message
    text: str
    rows: int
    plan: RestorePlan
    known: Known
    problem: str = ""


class Outcome(Struct, frozen=True):
    """What was done: `rows` left the conversation or came back, the files in `done` were changed, those in `failed` not.

    `problem` is why no further file was changed, "" where nothing was in the way. `is_stopped`: somebody stopped it, and
    some of `failed` was not reached.
    """

    rows: int = 0
    done: tuple[str, ...] = ()
    failed: tuple[NotRestored, ...] = ()
    problem: str = ""
    is_stopped: bool = False


class Restoring(Struct, frozen=True):
    """A restore under way, and the last row of the conversation that it belongs to."""

    number: int
    last_row_id: int


def prompts(s: OpenSession) -> list[Message]:
    """What can be gone back to, the last first."""
    return [row for row in reversed(s.rows) if row.is_prompt]


async def preview(s: OpenSession, prompt_id: int) -> Preview:
    """Nothing is changed. Raises NotInConversation or NotAPrompt."""
    known, told = known_of(s), list(s.told())
    leaving = told[place_of(told, prompt_id) :]
    if not leaving[0].is_prompt:
        raise NotAPrompt
    calls = await _read(s, lambda tables: tables.calls.since(s.id, tables.messages.position(s.id, prompt_id)))
    plan, problem = await _plan(s, calls)
    return Preview(leaving[0], unmarked(exact_text(leaving[0])), _said(leaving), plan, known, problem)


async def rewind(runtime: Runtime, seen: Preview, scope: Scope, also: Collection[str] = ()) -> Outcome:
    """Do what was shown, and of the conflicts among the files those in `also`. What can't be restored is in the outcome.

    Raises SessionBusy, BusyElsewhere, WentOn, NotRewindable, CannotRestore, and what `lineage.rewind` raises; then nothing
    was changed.
    """
    s, now = runtime.s, time.time()

    async def work() -> tuple[Outcome, Sequence[TurnEvent]]:
        stored = await _stored(s, seen.known)
        number, noted = stored.rewinds + 1, None
        if scope is not Scope.CONVERSATION:
            noted = await s.parts.history_for(s.session).note(seen.plan, also, number)

        def change(tables: Tables) -> None:
            if scope is Scope.FILES:
                tables.lineage.number_rewind(s.id)
            else:
                tables.lineage.rewind(s.id, seen.prompt.id, now)

        return await _carried_out(s, change, noted)

    return await runtime.alone(work)


async def undo(runtime: Runtime) -> Outcome:
    """Bring back the rows and the files of the latest rewind that stands.

    Raises SessionBusy, BusyElsewhere, NotRewindable, and what `lineage.undo_rewind` raises; then nothing was changed.
    """
    s = runtime.s

    async def work() -> tuple[Outcome, Sequence[TurnEvent]]:
        stored = await _stored(s)
        of_rows = await _read(s, lambda tables: tables.lineage.standing_rewind(s.id))
        number, noted, problem = await _way_back(s, of_rows, stored.rewinds)
        if not number:
            raise NothingToUndo

        def change(tables: Tables) -> None:
            if number == of_rows:
                tables.lineage.undo_rewind(s.id)

        outcome, events = await _carried_out(s, change, noted)
        return (replace(outcome, problem=problem) if problem else outcome), events

    return await runtime.alone(work)


async def branch(runtime: Runtime, title: str = "", before_id: int = 0) -> str:
    """The id of a new session with all that was said here, or was before a prompt. This one is left as it is.

    Raises SessionBusy, BusyElsewhere, NotRewindable, NothingToBranch, TitleTaken, and what `lineage.branch` raises.
    """
    s, now = runtime.s, time.time()
    new_id = new_session_id(now)
    if not s.rows:
        raise NothingToBranch

    def made(tables: Tables) -> None:
        rows = tables.messages.all(s.id)
        place = place_of(rows, before_id) if before_id else len(rows)
        if place == 0:
            raise NothingToBranch
        tables.lineage.branch(s.id, rows[place - 1].id, new_id, now)
        if title:
            tables.sessions.set_title(new_id, title, TitleSource.PERSON)

    async def work() -> tuple[None, Sequence[TurnEvent]]:
        return await _write(s, made), []

    await runtime.alone(work)
    return new_id


async def finish(runtime: Runtime) -> str:
    """After opening: do what a kill left to do of a restore. What is to be told of it, "" for nothing."""
    s = runtime.s
    mark = await _read(s, lambda tables: tables.state.get(RESTORING + s.id))
    if not mark:
        return ""
    restoring = msgspec.json.decode(mark, type=Restoring)

    async def work() -> tuple[Outcome | None, Sequence[TurnEvent]]:
        if restoring.last_row_id != s.last_row_id:
            await _forget(s)
            return None, []
        noted = await s.parts.history_for(s.session).left_of(restoring.number)
        return await _restored(s, noted), []

    try:
        outcome = await runtime.alone(work)
    except BusyElsewhere:
        return ""  # it is being done there
    except UserError as error:
        return f"The files of a rewind were not all restored when hermes ended. {error}"
    return _told_of_end(outcome) if outcome is not None else WENT_ON


def _told_of_end(outcome: Outcome) -> str:
    left = f", left alone {len(outcome.failed):,}" if outcome.failed else ""
    return (
        "The files of a rewind, or of its undoing, were not all restored when hermes ended. "
        f"That was finished now: restored {len(outcome.done):,} more{left}. {outcome.problem}"
    ).strip()


# --- inside


async def _plan(s: OpenSession, calls: Sequence[str]) -> tuple[RestorePlan, str]:
    try:
        return await s.parts.history_for(s.session).changes_since(calls), ""
    except UserError as error:
        from agent.checkpoints.plan import RestorePlan

        return RestorePlan(), s.masking.text(str(error))


async def _stored(s: OpenSession, known: Known | None = None) -> Session:
    """The session in the store, while nobody else can change it. Raises WentOn where its rows are not those known."""

    def look(tables: Tables) -> tuple[Session | None, int]:
        return tables.sessions.get(s.id), last_row_id(tables.messages.page(s.id, limit=1))

    stored, last_id = await _read(s, look)
    if stored is None:
        raise SessionDeleted(session_id=s.id)
    if known is not None and known != Known(stored.revision, last_id):
        raise WentOn
    return stored


async def _way_back(s: OpenSession, of_rows: int, most: int) -> tuple[int, Noted | None, str]:
    """The number of the latest rewind that stands, the recorded way back for its files, and why there is none.

    Raises what `lineage.undo_rewind` would raise, before anything is recorded.
    """
    history, problem = s.parts.history_for(s.session), ""
    try:
        number = max(of_rows, await history.standing_rewind(most))
    except UserError as error:  # no file can be brought back, which is no reason to keep the rows away as well
        number, problem = of_rows, s.masking.text(str(error))
    if number and number == of_rows:
        await _read(s, lambda tables: tables.lineage.rewound(s.id))
    return number, await history.note_undo(number) if number and not problem else None, problem


async def _carried_out(
    s: OpenSession, change: Callable[[Tables], None], noted: Noted | None
) -> tuple[Outcome, Sequence[TurnEvent]]:
    """The transaction, then the files."""
    before, number = list(s.rows), noted.number if noted is not None else 0

    def step(tables: Tables) -> tuple[Session | None, list[Message]]:
        change(tables)
        rows = tables.messages.all(s.id)
        if number:
            mark = msgspec.json.encode(Restoring(number, last_row_id(rows))).decode()
            tables.state.put(RESTORING + s.id, mark)
        return tables.sessions.get(s.id), rows

    session, rows = await _write(s, step, is_synced=number != 0)
    if session is None:
        raise SessionDeleted(session_id=s.id)
    await _adopt(s, session, [masked_row(s.masking, row) for row in rows])
    outcome = await _restored(s, noted) if noted is not None else Outcome()
    is_moved = [row.id for row in before] != [row.id for row in s.rows]
    return replace(outcome, rows=abs(_said(s.rows) - _said(before))), [RowsReplaced(s.stamp())] if is_moved else []


async def _adopt(s: OpenSession, stored: Session, rows: list[Message]) -> None:
    """Take the rows into memory as they stand now, counted anew in a meter of its own: that of the session is asked on
    the loop meanwhile."""
    meter, terms = Meter(), s.terms
    await asyncio.to_thread(meter.figure, rows, stored.anchors, terms)
    s.meter, s.rows = meter, rows
    s.session = replace(s.session, rewinds=stored.rewinds, revision=stored.revision, anchors=stored.anchors)
    s.place.seen.forget_shown()


async def _restored(s: OpenSession, noted: Noted) -> Outcome:
    if not noted.number:
        return Outcome(failed=noted.failed)
    telling = asyncio.create_task(_tell_progress(s))
    try:
        restored = await s.parts.history_for(s.session).carry_out(noted)
    except UserError as error:
        outcome = Outcome(problem=s.masking.text(str(error)))
    else:
        outcome = Outcome(done=restored.done, failed=restored.failed, is_stopped=restored.is_stopped)
    finally:
        telling.cancel()
        s.publish(RestoreMoved(s.stamp(), None))
    await _forget(s)
    return outcome


async def _tell_progress(s: OpenSession) -> None:
    history = s.parts.history_for(s.session)
    while True:
        if (progress := history.progress) is not None:
            s.publish(RestoreMoved(s.stamp(), *progress))
        await asyncio.sleep(TOLD_S)


async def _forget(s: OpenSession) -> None:
    """The restore is over. A note of it that stays, because nothing can be written, finds nothing left to do."""
    try:
        await _write(s, lambda tables: tables.state.remove(RESTORING + s.id))
    except UserError as error:
        log.warning("the restore of session %s is still noted as under way: %s", s.id, error)


def _said(rows: Sequence[Message]) -> int:
    return sum(row.role is not Role.NOTICE for row in rows)


async def _read(s: OpenSession, look: Callable[[Tables], T]) -> T:
    return await asyncio.wrap_future(s.parts.db.read(look))


async def _write(s: OpenSession, change: Callable[[Tables], T], *, is_synced: bool = False) -> T:
    """Into the file or not at all. Raises NotRewindable while other changes wait for it: they would not follow on this."""
    if s.backlog.trouble is not None:
        raise NotRewindable(reason=s.backlog.trouble)
    written = s.parts.db.write(under(s.backlog.claim, change), patience=Patience.TRANSCRIPT, is_synced=is_synced)
    return await asyncio.wrap_future(written)
