"""Running what the model calls: neighbours that can't disturb each other at once, all others one after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from agent.approvals.verdict import Allow
from agent.call_reading import NotRunnable, ReadCall, read_call
from agent.deciding import Judged, NotRun, Runnable, decide, judged
from agent.events import TurnEvent
from agent.open_session import OpenSession
from agent.questions import run_question
from agent.running import run_together
from agent.tools import ask_user
from agent.tools.base import BadArguments, Touch
from session.models import CallOutcome, CallResult, Finish, ToolCall

MOST_AT_ONCE = 8


async def run_calls(
    s: OpenSession, calls: Sequence[ToolCall], finish: Finish = Finish.TOOL_CALLS
) -> AsyncGenerator[TurnEvent, None]:
    """Each call is answered by exactly one row, in the order the model wrote them (T17)."""
    left = list(calls)
    while left:
        together = await _together(s, left, finish)
        if len(together) > 1:
            async for event in run_together(s, together):
                yield event
        else:
            async for event in _run_call(s, left[0], finish):
                yield event
        del left[: max(1, len(together))]


async def _run_call(s: OpenSession, call: ToolCall, finish: Finish) -> AsyncGenerator[TurnEvent, None]:
    try:
        read = read_call(s.tools, call, finish)
        if read.tool.NAME == ask_user.NAME:
            async for event in run_question(s, call, read.args):
                yield event
            return
        runnable: Runnable | None = None
        async for step in decide(s, await judged(s, read)):
            match step:
                case Runnable():
                    runnable = step
                case NotRun():
                    yield await _not_run(s, step)
                case _:
                    yield step
    except (NotRunnable, BadArguments) as reason:
        yield await _not_run(s, NotRun(call, str(reason), cause=str(reason)))
        return
    if runnable is not None:
        async for event in run_together(s, [runnable]):
            yield event


async def _not_run(s: OpenSession, one: NotRun) -> TurnEvent:
    call = one.call
    return await s.store_result(
        one.text, CallResult(call.id, call.name, CallOutcome.NOT_RUN, one.approval, cause=one.cause)
    )


# --- what runs at once


async def _together(s: OpenSession, calls: Sequence[ToolCall], finish: Finish) -> list[Runnable]:
    """The calls in front that may run at once: all of them unasked, and none touching what another one writes."""
    found: list[Runnable] = []
    for call in calls[:MOST_AT_ONCE]:
        try:
            one = await _unasked(s, read_call(s.tools, call, finish))
        except (NotRunnable, BadArguments):
            break
        if one is None or any(_disturb(one, other) for other in found):
            break
        found.append(one)
    return found


async def _unasked(s: OpenSession, read: ReadCall) -> Runnable | None:
    """The call, if it may run without a question and beside others."""
    if read.tool.NAME == ask_user.NAME:
        return None
    now = await judged(s, read)
    if not isinstance(now.verdict, Allow) or not _is_bounded(now, now.verdict):
        return None
    async for step in decide(s, now):
        if isinstance(step, Runnable):
            return step
    return None


def _is_bounded(one: Judged, allow: Allow) -> bool:
    """Whether all that the call may change is known by its paths. What it touches nothing by may count on its place."""
    is_known = bool(one.touch.reads or one.touch.writes or one.touch.hosts) and not one.touch.runs
    return is_known or (bool(one.touch.runs) and not allow.changes)


def _disturb(one: Runnable, other: Runnable) -> bool:
    first, second = one.judged.touch, other.judged.touch
    return _overlap(first, second) or _overlap(second, first)


def _overlap(writing: Touch, other: Touch) -> bool:
    """A command may read anything, and a folder that is read holds all that is below it."""
    if writing.writes and other.runs:
        return True
    return any(_meet(path, touched) for path in writing.writes for touched in (*other.writes, *other.reads))


def _meet(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
