"""From a call that was read to whether it runs: judged, asked about where need be, and recorded as it was decided."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.approvals.asking_details import full_details, masked_details
from agent.approvals.details import Details, decoded
from agent.approvals.grants import SameCall
from agent.approvals.inbox import Answer
from agent.approvals.policy import judge
from agent.approvals.standing import Kind
from agent.approvals.verdict import Allow, Ask, Refuse, Verdict
from agent.call_reading import ReadCall
from agent.events import RequestOpened, RequestSettled, TurnEvent
from agent.open_session import OpenSession
from agent.tools.base import FileChange, Touch
from session.errors import UserError
from session.memory_store import is_temporary
from session.models import Approval, ApprovalRequest, Level, ToolCall
from session.tables import Tables

HEADLESS = "a headless run has nobody to ask, and nothing allows it beforehand"
UNRECORDED = (
    "Not run: at this moment hermes can't note on the disk that this call runs, and what is not noted might run a second "
    "time. Nothing is wrong with the call. Send it again."
)
PAST_COMMANDS = 200
_KINDS = {"terminal": Kind.SHELL, "write_file": Kind.EDIT, "patch": Kind.EDIT, "web_fetch": Kind.WEB}


class _Command(Struct, frozen=True):
    command: str = ""


class Judged(Struct, frozen=True):
    """A call, what it reaches and how it is shown, and what was made of it."""

    read: ReadCall
    touch: Touch
    shown: str
    verdict: Verdict

    @property
    def same(self) -> SameCall:
        return self.read.tool.NAME, self.read.key, replace(self.touch, stamps=_stamps_of(self.verdict))


class Runnable(Struct, frozen=True):
    """A call that may run. `rule` is what allows it unasked; `change` is what a person saw and allowed of a file."""

    judged: Judged
    approval: Approval
    changes: bool
    rule: str = ""
    change: FileChange | None = None

    @property
    def call(self) -> ToolCall:
        return self.judged.read.call


class NotRun(Struct, frozen=True):
    """A call that does not run: `text` is what the model is told, `approval` and `cause` are what is recorded."""

    call: ToolCall
    text: str
    approval: Approval = Approval.NOT_ASKED
    cause: str = ""


Decided = Runnable | NotRun


async def judged(s: OpenSession, read: ReadCall) -> Judged:
    """Judge a call as things are now. Raises BadArguments."""
    place, mode, grants = s.place, s.mode, s.parts.grants
    if (
        _KINDS.get(read.tool.NAME) is Kind.SHELL
    ):  # commands write files, too, and a rule for a script means the one that was there
        grants.note_written(s.id, await s.parts.history_for(s.session).written())

    def look() -> Judged:
        touch, shown = read.tool.touches(read.args, place), read.tool.shown(read.args)
        held = replace(grants.held(s.id, place.root), since=s.session.created_at)
        return Judged(read, touch, shown, judge(read.tool.NAME, touch, place, held, mode))

    return await asyncio.to_thread(look)


async def decide(s: OpenSession, first: Judged) -> AsyncGenerator[TurnEvent | Decided, None]:
    """Yields what happens, and last what came of it. Raises BadArguments where the call would change nothing."""
    now, seen = first, NOTHING_SEEN
    while True:
        match now.verdict:
            case Refuse() as refusal:
                yield refused(now.read, refusal)
                return
            case Allow() as allow if seen.is_nothing:
                yield _allowed(s, now, allow)
                return
            case Ask(details=details) if seen.is_nothing and s.parts.grants.is_allowed(s.id, now.same):
                if not details.is_once:
                    yield _recordable(s, Runnable(now, Approval.ALLOWED_SESSION, changes=True))
                    return
            case Ask() | Allow() if seen.covers(now.verdict):
                yield _recordable(s, Runnable(now, seen.approval, changes=True, change=seen.change))
                return
            case _:
                pass
        if is_unrecordable(s, now.read.call):
            yield NotRun(now.read.call, UNRECORDED)
            return
        assert isinstance(now.verdict, Ask)
        async for event in _ask(s, now, now.verdict):
            if not isinstance(event, _Heard):
                yield event
                continue
            if event.not_run is not None:
                yield event.not_run
                return
            seen = event.seen
            again = await judged(s, now.read.with_command(event.edited) if event.edited else now.read)
            # What was shown is what runs, also where a path leads elsewhere by now: the tool finds that out (C18).
            now = again if event.edited or seen.is_nothing else replace(now, verdict=again.verdict)


class _Seen(Struct, frozen=True):
    """What a person saw when they allowed a call. Nothing else is covered by their yes."""

    approval: Approval = Approval.NOT_ASKED
    marks: frozenset[str] = frozenset()
    is_once: bool = False
    change: FileChange | None = None
    stamps: tuple[str, ...] | None = None  # of the scripts that it would run; None where they edited it

    @property
    def is_nothing(self) -> bool:
        return self.approval is Approval.NOT_ASKED

    def covers(self, verdict: Verdict) -> bool:
        """Whether a verdict on what was made of the call holds no danger that they were not shown."""
        if self.is_nothing or not isinstance(verdict, Ask):
            return not self.is_nothing
        marks = {mark.why for mark in verdict.details.marks}
        is_as_seen = self.stamps is None or verdict.details.stamps == self.stamps
        return is_as_seen and marks <= self.marks and (self.is_once or not verdict.details.is_once)


NOTHING_SEEN = _Seen()


class _Heard(Struct, frozen=True):
    """What came of asking: not run, or what was seen and made of it. With neither, it is to be judged anew."""

    not_run: NotRun | None = None
    seen: _Seen = NOTHING_SEEN
    edited: str = ""


async def _ask(s: OpenSession, now: Judged, ask: Ask) -> AsyncGenerator[TurnEvent | _Heard, None]:
    if s.parts.is_attended and (now.touch.runs or now.touch.writes):
        s.parts.history_for(s.session).prepare()
    history = await _history(s) if now.touch.runs else ()
    details, change = await asyncio.to_thread(full_details, now.read, now.touch, s.place, ask, history)
    request = await _open_request(s, now, ask, details)
    yield RequestOpened(s.stamp(), request)
    answer = await _heard(s, request, details, ask)
    if answer.approval.may_run:
        try:
            answer = await _kept(s, now, details, answer)
        except UserError as error:
            answer = replace(answer, approval=Approval.ALLOWED_SESSION)
            s.parts.grants.allow(s.id, _KINDS[now.read.tool.NAME], answer.rules)
            yield await s.store_notice(Level.WARNING, f"{error} It is allowed for this session only.")
    await _settle(s, request, answer)
    yield RequestSettled(s.stamp(), request, answer.approval, answer.cause)
    if answer.is_asked_anew:
        yield _Heard()
    elif not answer.approval.may_run:
        yield _Heard(NotRun(now.read.call, refusal_text(answer), answer.approval, answer.cause))
    else:
        marks = frozenset(mark.why for mark in details.marks)
        as_seen = (None, None) if answer.edited else (change, details.stamps)
        seen = _Seen(answer.approval, marks, details.is_once, *as_seen)
        yield _Heard(seen=seen, edited=answer.edited or "")


async def _open_request(s: OpenSession, now: Judged, ask: Ask, details: Details) -> ApprovalRequest:
    """A request in the store. One that a process left that died is asked again as it stood."""
    call, seen, at = now.read.call, s.masking.text(now.shown), time.time()
    secret = "" if seen == now.shown else ", with a secret in it that is shown by its name"
    timeout_s = s.parts.settings.approvals.timeout_s
    ends_at = at + timeout_s if timeout_s else None
    request = ApprovalRequest(
        id=f"ask_{uuid4().hex[:12]}",
        session_id=s.id,
        call_id=call.id,
        tool=call.name,
        shown=_legal(seen),
        why=_legal(f"{s.masking.text(ask.why)}{secret}"),
        opened_at=at,
        details=masked_details(s.masking, replace(details, ends_at=ends_at)),
    )

    def store(tables: Tables) -> ApprovalRequest:
        for waiting in tables.approvals.waiting(s.id):
            if waiting.call_id == call.id:
                return waiting
        tables.approvals.open(request)
        return request

    return await s.write(store, is_synced=True)


async def _heard(s: OpenSession, request: ApprovalRequest, details: Details, ask: Ask) -> Answer:
    """The answer, with nothing in it that was not offered."""
    if not s.parts.is_attended:
        return Answer(Approval.DENIED, f"{HEADLESS}: it {s.masking.text(ask.why)}")
    given = await s.parts.inbox.wait(request, s.parts.settings.approvals.timeout_s)
    if given.approval in (Approval.ANSWERED, Approval.DECLINED, Approval.NOT_ASKED):
        return Answer(Approval.CANCELLED, "it was answered as if it were a question")
    if given.approval is Approval.DENIED and given.reason.strip():
        return Answer(Approval.DENIED, f"the person said: {_legal(s.masking.text(given.reason.strip()))}")
    shown = decoded(request.details)
    offered = {offer.rule for part in shown.offers for offer in part} if shown.may_save else set[str]()
    command = given.edited if shown.command and given.edited not in (None, details.command) else None
    rules = () if command else tuple(rule for rule in given.rules if rule in offered)
    approval = _within(given.approval, details, rules)
    return replace(given, approval=approval, cause=s.masking.text(given.cause), rules=rules, edited=command)


def _within(approval: Approval, details: Details, rules: tuple[str, ...]) -> Approval:
    """As much of a yes as can be given here."""
    if approval.may_run and details.is_once:
        return Approval.ALLOWED_ONCE
    return Approval.ALLOWED_SESSION if approval is Approval.ALLOWED_ALWAYS and not rules else approval


async def _kept(s: OpenSession, now: Judged, details: Details, answer: Answer) -> Answer:
    """Keep what was allowed for longer than this call. Raises NotSet, NotSaved where it can't be saved."""
    grants, kind = s.parts.grants, _KINDS.get(now.read.tool.NAME)
    if answer.approval is Approval.ALLOWED_ALWAYS and kind is not None:
        root, is_everywhere = s.place.root, answer.is_everywhere
        await asyncio.to_thread(grants.save, kind, answer.rules, root, is_everywhere=is_everywhere)
    elif answer.approval is Approval.ALLOWED_SESSION and answer.rules and kind is not None:
        grants.allow(s.id, kind, answer.rules)
    elif answer.approval is Approval.ALLOWED_SESSION:
        kept = now if answer.edited is None else await judged(s, now.read.with_command(answer.edited))
        if not (isinstance(kept.verdict, Ask) and kept.verdict.details.is_once):
            grants.allow_call(s.id, kept.same)
    return answer


async def _settle(s: OpenSession, request: ApprovalRequest, answer: Answer) -> None:
    at, rules, edited = time.time(), "\n".join(answer.rules), s.masking.text(_legal(answer.edited or ""))
    await s.write(
        lambda tables: tables.approvals.settle(request.id, answer.approval, answer.cause, at, rules, edited),
        is_synced=True,
    )


async def _history(s: OpenSession) -> tuple[str, ...]:
    """The latest commands of this store, for how much a rule would have allowed."""
    found = await asyncio.wrap_future(s.parts.db.read(lambda tables: tables.calls.latest("terminal", PAST_COMMANDS)))
    return tuple(command for arguments in found if (command := _command(arguments)))


def _command(arguments: str) -> str:
    try:
        return msgspec.json.decode(arguments, type=_Command).command
    except msgspec.DecodeError:
        return ""


def _allowed(s: OpenSession, now: Judged, allow: Allow) -> Decided:
    runnable = Runnable(now, allow.approval, allow.changes, allow.rule)
    return _recordable(s, runnable) if allow.changes else runnable


def _recordable(s: OpenSession, runnable: Runnable) -> Decided:
    return NotRun(runnable.call, UNRECORDED) if is_unrecordable(s, runnable.call) else runnable


def _stamps_of(verdict: Verdict) -> tuple[str, ...]:
    return verdict.details.stamps if isinstance(verdict, Ask) else ()


def is_unrecordable(s: OpenSession, call: ToolCall) -> bool:
    """Whether the store knows a call and can't be told at the moment that it runs: after a kill it would run again."""
    ids = (row.id for row in s.rows for other in row.calls if other.id == call.id)
    return s.is_behind and not any(map(is_temporary, ids))


def refused(read: ReadCall, refusal: Refuse) -> NotRun:
    """No person said this no: the cause names the rule."""
    whose = "What the person made of this command may not run" if read.edited else "Not run: denied"
    text = f"{whose}, because {refusal.why}. {NO_DETOUR}"
    return NotRun(read.call, text, Approval.DENIED, refusal.why)


NO_DETOUR = "Do not repeat, rephrase or reach the same result another way without asking."


def refusal_text(answer: Answer) -> str:
    """What the model is told of a call that may not run: exactly what happened, and only a denial as the person's word."""
    match answer.approval:
        case Approval.DENIED if answer.cause:
            said = f"Not run: denied, because {answer.cause.rstrip('.')}."
        case Approval.DENIED:
            said = "Not run: the person denied it."
        case Approval.TIMED_OUT:
            said = f"Not run: {answer.cause}. Silence is not consent."
        case _:
            said = f"Not run: the question could not be answered ({answer.cause}). Silence is not consent."
    return f"{said} {NO_DETOUR}"


def _legal(text: str) -> str:
    """Halves of surrogate pairs can't be stored."""
    return text.encode("utf-8", "replace").decode()
