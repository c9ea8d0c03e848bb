"""How a turn that did not end by itself is made legal: after an interrupt, an error, or a kill."""

from __future__ import annotations

from msgspec import Struct

from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    CallResult,
    ExitReason,
    Finish,
    Message,
    Role,
    ToolCall,
)
from session.tables import Tables

EFFECT_UNKNOWN = (
    "Interrupted: this call had begun to run and its result was lost ({cause}). "
    "Whether it took effect, wholly or in part, is unknown: look before you do it again."
)
NOT_RUN = "Not run: {cause}."
DENIED = "Not run: the person denied this call."
DENIED_WITH_REASON = "Not run: denied, because {cause}."
TIMED_OUT = "Not run: nobody answered the request for approval in time."


class Settlement(Struct, frozen=True):
    """What settling did: the rows it stored, the requests it withdrew, and those left for a person to answer."""

    rows: tuple[Message, ...]
    withdrawn: tuple[ApprovalRequest, ...]
    waiting: tuple[ApprovalRequest, ...]


def settle(
    tables: Tables,
    session_id: str,
    *,
    finish: Finish,
    cause: str,
    at: float,
    keep_waiting: bool,
    reason: ExitReason = ExitReason.INTERRUPTED,
) -> Settlement:
    """Leave every call with one result, in order, and no half answer; a second time changes nothing.

    A partial answer becomes a row that ends as `finish`, the turn ends for `reason`. A call that had started is
    interrupted. One that had not is not run because of `cause`, unless `keep_waiting` is set and a person is still to
    be asked about one of them: then they are left for the turn to go on with, and so is the turn. `cause` is a clause
    without a full stop.
    """
    pending = tables.calls.unanswered(session_id)
    started = tables.calls.started(session_id)
    kept, withdrawn = sort_requests(tables.approvals.waiting(session_id), pending, started, keep_waiting)
    for request in withdrawn:
        tables.approvals.settle(request.id, Approval.CANCELLED, cause, at)
    rows: list[Message] = []
    for call in pending:
        if kept and call.id not in started:
            break  # results stand in call order, so nothing after this one is settled before it
        result = result_of(tables, session_id, call, started, cause)
        rows.append(tables.messages.append(result_row(session_id, result, at)))
    if not kept:
        rows += settle_partial(tables, session_id, finish, at)
        tables.turns.end(session_id, reason, at)
    return Settlement(tuple(rows), tuple(withdrawn), tuple(kept))


def sort_requests(
    requests: list[ApprovalRequest], pending: list[ToolCall], started: dict[str, Approval], keep_waiting: bool
) -> tuple[list[ApprovalRequest], list[ApprovalRequest]]:
    """Those still worth a person's word, and the rest: a call that ran, or is gone, is not asked about."""
    askable = {call.id for call in pending if call.id not in started} if keep_waiting else set[str]()
    kept = [request for request in requests if request.call_id in askable]
    return kept, [request for request in requests if request.call_id not in askable]


def settle_partial(tables: Tables, session_id: str, finish: Finish, at: float) -> list[Message]:
    partial = tables.partials.read(session_id)
    tables.partials.clear(session_id)
    if not partial:
        return []
    row = Message(
        session_id,
        Role.ASSISTANT,
        partial.content,
        at,
        reasoning=partial.reasoning,
        refusal=partial.refusal,
        finish=finish,
    )
    return [tables.messages.append(row)]


def result_of(tables: Tables, session_id: str, call: ToolCall, started: dict[str, Approval], cause: str) -> CallResult:
    if call.id in started:
        return CallResult(call.id, call.name, CallOutcome.INTERRUPTED, started[call.id], cause=cause)
    approval, decided_because = tables.approvals.of_call(session_id, call.id) or (Approval.NOT_ASKED, cause)
    # A yes does not explain why the call did not run; every other word does.
    return CallResult(
        call.id, call.name, CallOutcome.NOT_RUN, approval, cause=cause if approval.may_run else decided_because
    )


def result_row(session_id: str, result: CallResult, at: float) -> Message:
    return Message(session_id, Role.TOOL, told(result), at, result=result)


def told(result: CallResult) -> str:
    """What the model reads in place of a result. Only a denial is ever called the person's."""
    match result.outcome, result.approval:
        case CallOutcome.INTERRUPTED, _:
            return EFFECT_UNKNOWN.format(cause=result.cause)
        case _, Approval.DENIED if result.cause:
            return DENIED_WITH_REASON.format(cause=result.cause)
        case _, Approval.DENIED:
            return DENIED
        case _, Approval.TIMED_OUT:
            return TIMED_OUT
        case _:
            return NOT_RUN.format(cause=result.cause)
