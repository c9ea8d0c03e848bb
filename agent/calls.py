"""Running what the model calls: each call is judged, asked about if need be, run, and ends in exactly one result row."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from typing import cast
from uuid import uuid4

from agent.approvals.inbox import Answer
from agent.approvals.policy import Allow, Ask, judge
from agent.config.masking import MaskedStream, Masking
from agent.events import CallOutput, CallStarted, RequestOpened, RequestSettled, TurnEvent
from agent.open_session import OpenSession, SameCall
from agent.tools.base import Arguments, BadArguments, CallContext, Tool, ToolResult
from session.models import Approval, ApprovalRequest, CallOutcome, CallResult, Finish, ToolCall
from session.tables import Tables

log = logging.getLogger(__name__)

KEPT_OUTPUT = 20_000  # characters of a running call's output that an interrupt still tells the model


class NotRunnable(Exception):
    """A call that can't be run as it was written. The text goes to the model."""


async def run_calls(
    s: OpenSession, calls: Sequence[ToolCall], finish: Finish = Finish.TOOL_CALLS
) -> AsyncGenerator[TurnEvent, None]:
    """One call after another, each answered by exactly one row, in the order the model wrote them."""
    for call in calls:
        async for event in _run_call(s, call, finish):
            yield event


async def _run_call(s: OpenSession, call: ToolCall, finish: Finish) -> AsyncGenerator[TurnEvent, None]:
    try:
        tool, args = _read(s, call, finish)
        touch = tool.touches(args, s.place)
        verdict, shown = judge(tool.NAME, touch, s.place), tool.shown(args)
    except (NotRunnable, BadArguments) as reason:
        yield await _not_run(s, call, Answer(Approval.NOT_ASKED, str(reason)), str(reason))
        return
    # The very same call, still on the same files: a path that was allowed may lead elsewhere by now (C18).
    same: SameCall = (tool.NAME, json.dumps(args, sort_keys=True), touch)
    answer = Answer(Approval.NOT_ASKED)
    match verdict:
        case Allow():
            pass
        case Ask() if same in s.allowed:
            answer = Answer(Approval.ALLOWED_SESSION)
        case Ask(why):
            request = await _open_request(s, call, shown, why)
            yield RequestOpened(s.stamp(), request)
            answer = await _answer(s, request)
            yield RequestSettled(s.stamp(), request, answer.approval, answer.cause)
    if not answer.approval.may_run:
        yield await _not_run(s, call, answer, refusal_text(answer))
        return
    if answer.approval is Approval.ALLOWED_SESSION:
        s.allowed.add(same)
    async for event in _run(s, call, tool, args, shown, answer.approval):
        yield event


def _read(s: OpenSession, call: ToolCall, finish: Finish) -> tuple[Tool, Arguments]:
    tool = s.parts.tools.get(call.name)
    if tool is None:
        raise NotRunnable(f"There is no tool named {call.name!r}. The tools are: {', '.join(s.parts.tools)}.")
    try:
        args: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        # Cut arguments are never completed: half a write would run (A17).
        if finish is Finish.LENGTH:
            raise NotRunnable(
                "Not run: this call was cut off by the output limit. Send it again in smaller pieces."
            ) from error
        raise NotRunnable(f"Not run: the arguments are invalid JSON ({error}). Send the call again.") from error
    if not isinstance(args, dict):
        raise NotRunnable("Not run: the arguments must be a JSON object.")
    return tool, cast("Arguments", args)


async def _open_request(s: OpenSession, call: ToolCall, shown: str, why: str) -> ApprovalRequest:
    request = ApprovalRequest(
        id=f"ask_{uuid4().hex[:12]}",
        session_id=s.id,
        call_id=call.id,
        tool=call.name,
        shown=shown,
        why=why,
        opened_at=time.time(),
    )

    def store(tables: Tables) -> ApprovalRequest:
        for waiting in tables.approvals.waiting(s.id):
            if waiting.call_id == call.id:
                return waiting  # opened by a process that died: it is asked again under its own id
        tables.approvals.open(request)
        return request

    return await s.write(store)


async def _answer(s: OpenSession, request: ApprovalRequest) -> Answer:
    if s.parts.is_attended:
        answer = await s.parts.inbox.wait(request, s.parts.settings.approvals.timeout_s)
    else:
        answer = Answer(Approval.DENIED, "a headless run has nobody to ask")
    now = time.time()
    await s.write(lambda tables: tables.approvals.settle(request.id, answer.approval, answer.cause, now))
    return answer


def refusal_text(answer: Answer) -> str:
    """What the model is told of a call that may not run: exactly what happened, and only a denial as the person's word."""
    match answer.approval:
        case Approval.DENIED if answer.cause:
            said = f"Not run: denied, because {answer.cause}."
        case Approval.DENIED:
            said = "Not run: the person denied it."
        case Approval.TIMED_OUT:
            said = f"Not run: {answer.cause}. Silence is not consent."
        case _:
            said = f"Not run: the question could not be answered ({answer.cause}). Silence is not consent."
    return f"{said} Do not repeat, rephrase or reach the same result another way without asking."


async def _not_run(s: OpenSession, call: ToolCall, answer: Answer, text: str) -> TurnEvent:
    return await s.store_result(
        text, CallResult(call.id, call.name, CallOutcome.NOT_RUN, answer.approval, cause=answer.cause)
    )


async def _run(
    s: OpenSession, call: ToolCall, tool: Tool, args: Arguments, shown: str, approval: Approval
) -> AsyncGenerator[TurnEvent, None]:
    now = time.time()
    await s.write(lambda tables: tables.calls.mark_started(s.id, call.id, approval, now))
    yield CallStarted(s.stamp(), call, shown)
    output = _Output(s.parts.secrets.masking)
    began = time.monotonic()
    task = asyncio.create_task(_act(tool, args, CallContext(s.place, call.id, output.add)))
    task.add_done_callback(lambda _: output.news.set())
    try:
        while not task.done():
            await output.news.wait()
            if text := output.take():
                yield CallOutput(s.stamp(), call.id, text)
        result = task.result()
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        text = f"Interrupted while it ran; what it had done by then stays done. Output so far:\n{output.kept}"
        cut = CallResult(call.id, call.name, CallOutcome.INTERRUPTED, approval, duration_s=time.monotonic() - began)
        await s.append_result(text, cut)
        raise
    yield await s.store_result(
        s.parts.secrets.mask(result.text),
        CallResult(call.id, call.name, result.outcome, approval, result.exit_code, duration_s=time.monotonic() - began),
    )


async def _act(tool: Tool, args: Arguments, ctx: CallContext) -> ToolResult:
    """Run a tool. What a tool did not foresee is an error of the call, told to the model and logged, never of the turn."""
    try:
        return await tool.run(args, ctx)
    except BadArguments as error:
        return ToolResult(str(error), CallOutcome.NOT_RUN)
    except OSError as error:
        return ToolResult(f"{type(error).__name__}: {error}", CallOutcome.ERROR)
    except Exception as error:
        log.exception("tool %s failed", tool.NAME)
        return ToolResult(f"The tool failed: {type(error).__name__}: {error}", CallOutcome.ERROR)


class _Output:
    """Output of a running call between the tool that writes it and the turn that publishes it, without our secrets."""

    def __init__(self, masking: Masking) -> None:
        self.news = asyncio.Event()
        self.kept = ""
        self._fresh: list[str] = []
        self._masked = MaskedStream(masking, self._fresh.append)

    def add(self, text: str) -> None:
        self._masked.add(text)
        self.news.set()

    def take(self) -> str:
        self.news.clear()
        text = "".join(self._fresh)
        self._fresh.clear()
        self.kept = (self.kept + text)[-KEPT_OUTPUT:]
        return text
