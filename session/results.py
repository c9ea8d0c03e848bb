"""The results of calls that did not run to their end: what became of each, and what the model reads of it."""

from __future__ import annotations

from collections.abc import Mapping

from session.models import Approval, CallOutcome, CallResult, Message, Role, ToolCall

EFFECT_UNKNOWN = (
    "Interrupted: this call had begun to run and its result was lost ({cause}). "
    "Whether it took effect, wholly or in part, is unknown: look before you do it again."
)
NOT_RUN = "Not run: {cause}."
DENIED = "Not run: the person denied this call."
DENIED_WITH_REASON = "Not run: denied, because {cause}."
TIMED_OUT = "Not run: nobody answered the request for approval in time."
ANSWERED = "The person answered:\n{cause}"
DECLINED = "The person declined to answer this question."

Decision = tuple[Approval, str]  # what was decided about a call, and the cause


def result_of(call: ToolCall, started: Mapping[str, Approval], decided: Decision | None, cause: str) -> CallResult:
    """Interrupted if it had started, else not run: because of what was `decided`, or of `cause`. Or answered, then."""
    if call.id in started:
        return CallResult(call.id, call.name, CallOutcome.INTERRUPTED, started[call.id], cause=cause)
    approval, decided_because = decided or (Approval.NOT_ASKED, cause)
    if approval is Approval.ANSWERED:  # to a question of the call itself: the answer is its result
        return CallResult(call.id, call.name, CallOutcome.OK, approval, cause=decided_because)
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
        case _, Approval.ANSWERED:
            return ANSWERED.format(cause=result.cause)
        case _, Approval.DECLINED:
            return DECLINED
        case _:
            return NOT_RUN.format(cause=result.cause)
