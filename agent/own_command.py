"""A command that the person runs themselves: no question is asked about it, and the model is told of it with the next prompt.

Its row is the person's, with the command as its one call; the result follows as behind a call of the model's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

from agent.approvals.policy import judge
from agent.approvals.shell_verdict import Mode
from agent.approvals.verdict import Refuse
from agent.call_ids import new_call_id
from agent.call_reading import ReadCall
from agent.deciding import Judged, Runnable
from agent.events import TurnEvent, TurnStarted
from agent.open_session import OpenSession
from agent.running import run_together
from agent.tools import terminal
from agent.tools.base import Arguments, BadArguments
from session.models import OWN_COMMAND, Approval, CallOutcome, CallResult, ExitReason, ToolCall


async def run_own_command(s: OpenSession, command: str) -> AsyncGenerator[TurnEvent, None]:
    """Yields what happens, from the stored command to its end. Only the floor and what a rule forbids keep it from running."""
    call = ToolCall(new_call_id(), OWN_COMMAND, json.dumps({"command": command}, ensure_ascii=False))
    for event in await s.begin(f"!{command}", calls=(call,)):
        if not isinstance(event, TurnStarted):  # no model works
            yield event
    try:
        now = await asyncio.to_thread(_judged, s, call, command)
    except BadArguments as reason:
        yield await _not_run(s, call, str(reason))
    else:
        if isinstance(now.verdict, Refuse):
            yield await _not_run(s, call, now.verdict.why, Approval.DENIED)
        else:
            async for event in run_together(s, [Runnable(now, Approval.NOT_ASKED, changes=True)]):
                yield event
    yield await s.end(ExitReason.COMPLETED)


def _judged(s: OpenSession, call: ToolCall, command: str) -> Judged:
    """Blocks. Raises BadArguments."""
    place = s.place
    args: Arguments = {"command": command, "timeout": terminal.LONGEST_TIMEOUT_S}
    if place.sandbox.is_on:
        args = {**args, "outside": True}  # which is for the person to allow, and they typed it
    touch = terminal.touches(args, place)
    verdict = judge(terminal.NAME, touch, place, s.parts.grants.held(s.id, place.root), Mode.YOLO)
    return Judged(ReadCall(call, terminal, args), touch, command, verdict)


async def _not_run(s: OpenSession, call: ToolCall, why: str, approval: Approval = Approval.NOT_ASKED) -> TurnEvent:
    result = CallResult(call.id, call.name, CallOutcome.NOT_RUN, approval, cause=why)
    return await s.store_result(f"Not run: {why}", result)
