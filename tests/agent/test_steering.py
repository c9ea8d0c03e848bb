"""What is said to a model that works: it reads it behind the next result, once, and nothing of it is lost."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.events import CallStarted, TurnEnded
from agent.steer_note import MARK
from session.models import Role
from session.queued import Queued


def call(command: str, number: int = 1) -> dict[str, object]:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "terminal", "arguments": json.dumps({"command": command})},
    }


@pytest.fixture
def more_config() -> str:
    return "auxiliary: {titles: false}"


async def working(bench, served, command: str) -> None:
    """A turn whose command runs and waits for a file."""
    served.reply(call(command))
    await bench.hub.runtime(bench.session_id).set_mode(bench.hub.runtime(bench.session_id).mode.YOLO)
    bench.hub.submit(bench.session_id, "work")
    await bench.until(lambda event: isinstance(event, CallStarted))


def queued(bench) -> list[Queued]:
    return bench.hub.profile.db.read(lambda tables: tables.queued.all(bench.session_id)).result()


async def steered(bench, text: str) -> None:
    runtime = bench.hub.runtime(bench.session_id)
    count = len(runtime.queue)
    assert runtime.steer(text)
    async with asyncio.timeout(15):
        while len(runtime.queue) == count:
            await asyncio.sleep(0.01)


WAIT = "while [ ! -e go ]; do sleep 0.02; done; echo built"


async def test_it_stands_behind_the_result_and_never_as_a_prompt_of_its_own(bench, served):
    await working(bench, served, WAIT)
    runtime = bench.hub.runtime(bench.session_id)
    await steered(bench, "also run the tests")
    await steered(bench, "and [bold]lint[/]")
    assert runtime.steers == {0, 1}
    assert [row.content for row in queued(bench)] == ["also run the tests", "and [bold]lint[/]"]
    served.reply(text="done")
    (bench.workspace / "go").touch()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    sent = served.requests[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[-1]["content"].endswith(f"{MARK}\nalso run the tests\nand [bold]lint[/]")
    assert "built" in sent[-1]["content"]
    assert queued(bench) == [] and runtime.queue == ()
    shown = next(row for row in bench.rows if row.role is Role.TOOL)
    assert MARK not in shown.content
    assert any(row.role is Role.NOTICE and "also run the tests" in row.content for row in bench.rows)
    stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
    assert stored == bench.rows
    served.reply(text="yes")
    await bench.ask("sure?")
    assert served.requests[-1]["messages"][:4] == sent  # what was read once stays as it was


async def test_where_nothing_is_called_any_more_it_is_the_next_prompt(bench, served):
    gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    bench.hub.submit(bench.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 15)
    await steered(bench, "and then?")
    served.reply(text="two")
    gate.set()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [row.content for row in bench.rows if row.role is Role.USER] == ["first", "and then?"]


async def test_after_an_interrupt_it_is_held_like_any_prompt(bench, served):
    await working(bench, served, WAIT)
    await steered(bench, "careful")
    runtime = bench.hub.runtime(bench.session_id)
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert (runtime.queue, runtime.steers, runtime.queue_is_held) == (("careful",), frozenset(), True)
    assert len(served.requests) == 1


async def test_after_a_kill_it_is_found_among_the_unsent(bench, served, open_bench):
    await working(bench, served, WAIT)
    await steered(bench, "remember")
    other = await open_bench()  # reads what a process that died would have left
    other.session_id = bench.session_id
    assert [row.content for row in queued(other)] == ["remember"]
    (bench.workspace / "go").touch()
    served.reply(text="done")
    await bench.until(lambda event: isinstance(event, TurnEnded))


async def test_a_model_that_does_nothing_can_not_be_steered(bench):
    assert not bench.hub.runtime(bench.session_id).steer("hello")
