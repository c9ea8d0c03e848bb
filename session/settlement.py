"""How a turn that did not end by itself is made legal: after an interrupt, an error, or a kill."""

from __future__ import annotations

from msgspec import Struct

from session.models import Approval, ApprovalRequest, ExitReason, Finish, Message, Role, ToolCall
from session.results import result_of, result_row
from session.tables import Tables


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
        result = result_of(call, started, tables.approvals.of_call(session_id, call.id), cause)
        rows.append(tables.messages.append(result_row(session_id, result, at)))
    if not kept:
        rows += settle_partial(tables, session_id, finish, at)
        tables.turns.end(session_id, reason, at)
    return Settlement(tuple(rows), tuple(withdrawn), tuple(kept))


def is_unsettled(tables: Tables, session_id: str) -> bool:
    """Whether a turn runs in the session, or `settle` has something to do there."""
    return (
        tables.turns.open_since(session_id) is not None
        or bool(tables.approvals.waiting(session_id))
        or bool(tables.partials.read(session_id))
        or bool(tables.calls.unanswered(session_id))
    )


def sort_requests(
    requests: list[ApprovalRequest], pending: list[ToolCall], started: dict[str, Approval], keep_waiting: bool
) -> tuple[list[ApprovalRequest], list[ApprovalRequest]]:
    """Those still worth a person's word, and the rest: a call that ran, is gone, or can't run any more is not asked about."""
    can_run = (call.id for call in pending if call.id not in started and not call.is_masked)
    askable = set(can_run) if keep_waiting else set[str]()
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
