"""Putting a question of the model's to the person: a request with an id, in the store until it is answered.

A call of ask_user is never noted as started: while nobody has answered, nothing has happened, and a process that dies
leaves a request that is asked again. Whatever is answered is no approval of anything.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from uuid import uuid4

from msgspec.structs import replace

from agent.approvals.inbox import Answer
from agent.config.masking import Masking
from agent.events import RequestOpened, RequestSettled, TurnEvent
from agent.open_session import OpenSession
from agent.tools import ask_user
from agent.tools.base import Arguments
from session.models import Approval, ApprovalRequest, CallOutcome, CallResult, ToolCall
from session.tables import Tables

WHY = "has a question for you"
NOBODY = "nobody is there to answer in a run without a screen"


async def run_question(s: OpenSession, call: ToolCall, args: Arguments) -> AsyncGenerator[TurnEvent, None]:
    """From the question to the call's one result row. Raises BadArguments before anything is asked."""
    question = ask_user.question_of(args)
    if not s.parts.is_attended:
        result = CallResult(call.id, call.name, CallOutcome.NOT_RUN, Approval.NOT_ASKED, cause=NOBODY)
        yield await s.store_result(ask_user.NOBODY, result)
        return
    request = await _opened(s, call, question)
    yield RequestOpened(s.stamp(), request)
    answer = await _answer(s, request)
    yield RequestSettled(s.stamp(), request, answer.approval, answer.cause)
    text, result = told(call, answer)
    yield await s.store_result(text, result)


def told(call: ToolCall, answer: Answer) -> tuple[str, CallResult]:
    """What the model reads, and what is recorded: exactly what happened."""
    match answer.approval:
        case Approval.ANSWERED:
            return ask_user.answered(answer.cause), CallResult(call.id, call.name, CallOutcome.OK, answer.approval)
        case Approval.DECLINED:
            text = ask_user.DECLINED
        case _:
            text = f"Not answered: {answer.cause}. Nobody has said anything."
    return text, CallResult(call.id, call.name, CallOutcome.NOT_RUN, answer.approval, cause=answer.cause)


async def _opened(s: OpenSession, call: ToolCall, question: ask_user.Question) -> ApprovalRequest:
    question = _masked(question, s.masking)
    request = ApprovalRequest(
        id=f"ask_{uuid4().hex[:12]}",
        session_id=s.id,
        call_id=call.id,
        tool=call.name,
        shown=ask_user.text_of(question),
        why=WHY,
        opened_at=time.time(),
        details=ask_user.encoded(question),
    )

    def store(tables: Tables) -> ApprovalRequest:
        for waiting in tables.approvals.waiting(s.id):
            if waiting.call_id == call.id:
                return waiting  # opened by a process that died: it is asked again under its own id
        tables.approvals.open(request)
        return request

    return await s.write(store, is_synced=True)


async def _answer(s: OpenSession, request: ApprovalRequest) -> Answer:
    given = await s.parts.inbox.wait(request, s.parts.settings.approvals.timeout_s)
    if given.approval.may_run or given.approval is Approval.DENIED:
        given = Answer(Approval.CANCELLED, "it was settled as if it were a request for approval")
    answer = Answer(given.approval, s.masking.text(given.cause))
    now = time.time()
    await s.write(
        lambda tables: tables.approvals.settle(request.id, answer.approval, answer.cause, now), is_synced=True
    )
    return answer


def _masked(question: ask_user.Question, masking: Masking) -> ask_user.Question:
    return replace(question, text=masking.text(question.text), choices=tuple(map(masking.text, question.choices)))
