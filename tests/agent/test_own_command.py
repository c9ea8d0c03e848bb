"""Commands that the person runs themselves, with `!`: run as they were typed, and told to the model with the next prompt."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.events import CallOutput, TurnEnded
from agent.own_command import run_own_command
from agent.rewinding import Scope, prompts
from agent.session_run import SessionBusy
from session.invariants import violations
from session.models import CallOutcome, ExitReason, Message
from session.status import Status, status


async def ran(bench, command: str) -> tuple[ExitReason, Message]:
    """How it ended, and the row of its result."""
    bench.hub.runtime(bench.session_id).run_command(command)
    events = await bench.until(lambda event: isinstance(event, TurnEnded))
    return events[-1].reason, next(row for row in reversed(bench.rows) if row.result is not None)


def said(request: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in request["messages"][1:]]


async def test_a_command_runs_unasked_and_its_output_comes_before_the_next_prompt(bench, served):
    served.reply(text="first")
    served.reply(text="second")
    await bench.ask("hello")
    reason, result = await ran(bench, "pwd; echo oops >&2; touch made; exit 3")
    assert reason is ExitReason.COMPLETED and (bench.workspace / "made").exists()
    assert (result.result.outcome, result.result.exit_code) == (CallOutcome.ERROR, 3)
    await bench.ask("why?")
    *before, (role, told) = said(served.requests[1])
    assert (before, role) == ([("user", "hello"), ("assistant", "first")], "user")
    assert told.endswith("\n\nwhy?") and "!pwd; echo oops" in told and f"{bench.workspace}\noops" in told
    assert served.requests[1]["messages"][:3] == [*served.requests[0]["messages"], before_of("first")]


def before_of(answer: str) -> dict[str, Any]:
    return {"role": "assistant", "content": answer}


async def test_a_session_may_begin_with_one_and_the_store_is_sound(bench, served, open_bench: Callable[..., Any]):
    await ran(bench, "echo one")
    db = bench.hub.profile.db
    found = db.read(lambda t: (violations(t, bench.session_id), status(t, bench.session_id))).result()
    assert found == ([], Status.COMPLETE)
    again = await open_bench()
    reopened = await again.hub.open(bench.session_id)
    assert next(row.content for row in reopened.s.rows if row.role != "notice") == "!echo one"
    served.reply(text="yes")
    again.session_id = bench.session_id
    await again.ask("seen?")
    ((role, told),) = said(served.requests[0])
    assert role == "user" and "one" in told and told.endswith("seen?")


async def test_the_floor_refuses_it_with_the_reason(bench):
    _, result = await ran(bench, "rm -rf /")
    assert result.result.outcome is CallOutcome.NOT_RUN and result.content.startswith("Not run: ")
    assert len(result.result.cause) > 10


async def test_it_can_be_interrupted_with_all_that_it_started(bench, served):
    runtime = bench.hub.runtime(bench.session_id)
    runtime.run_command("sleep 300 & echo $!; wait")
    (*_, output) = await bench.until(lambda event: isinstance(event, CallOutput))
    assert runtime.is_busy and not runtime.steer("not now")
    with pytest.raises(SessionBusy):
        runtime.run_command("echo two")
    runtime.submit("behind it")
    runtime.interrupt()
    events = await bench.until(lambda event: isinstance(event, TurnEnded))
    assert events[-1].reason is ExitReason.INTERRUPTED
    assert bench.rows[-1].result.outcome is CallOutcome.INTERRUPTED
    with pytest.raises(ProcessLookupError):
        os.kill(int(output.text), 0)
    assert (runtime.queue, runtime.queue_is_held) == (("behind it",), True)


async def test_one_that_a_kill_broke_off_is_settled_at_the_next_opening(bench, open_bench: Callable[..., Any]):
    """As a process leaves it that dies behind the first write."""
    steps = run_own_command(bench.hub.runtime(bench.session_id).s, "echo never")
    await anext(steps)
    again = await open_bench()
    rows = (await again.hub.open(bench.session_id)).s.rows
    assert rows[-1].result.outcome is CallOutcome.NOT_RUN
    await steps.aclose()


async def test_it_is_no_prompt_to_go_back_to(bench, served, workspace: Path):
    served.reply(text="first")
    await bench.ask("hello")
    await ran(bench, "echo one > made")
    s = bench.hub.runtime(bench.session_id).s
    assert [row.content for row in prompts(s)] == ["hello"]
    seen = await bench.hub.rewind_preview(bench.session_id, prompts(s)[0].id)
    await bench.hub.rewind(bench.session_id, seen, Scope.BOTH)
    assert not [row for row in bench.rows if row.result] and not (workspace / "made").exists()
