"""An interrupt at any point of a turn leaves a legal transcript, the same in memory and in the store, and no work behind."""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from agent.approvals.inbox import Answer
from agent.events import RequestOpened, TurnEnded
from agent.request import wire_messages
from agent.runtime import Live
from session.models import Approval, Role

ROUNDS = int(os.environ.get("HERMES_SOAK", "1")) * 60


async def start(bench, served) -> None:
    served.script.clear()
    served.reply(
        {"id": "x", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "echo a; echo b"}'}},
        text="Let me see.",
    )
    served.reply(text="Both came. " * 20)
    bench.hub.submit(bench.session_id, "go")


async def play(bench, steps: int) -> None:
    """Let the loop run for some steps, answering what is asked."""
    for _ in range(steps):
        await asyncio.sleep(0)
        for request in bench.hub.pending():
            bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE))


@pytest.mark.timeout(120)
async def test_an_interrupt_at_any_step_leaves_memory_and_store_equal_and_legal(bench, served):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        await start(bench, served)
        await play(bench, chance.randrange(0, 400))
        runtime = bench.hub.runtime(bench.session_id)
        bench.hub.interrupt(bench.session_id)
        async with asyncio.timeout(10):
            while runtime.is_busy:
                await bench.listener.wait()
                bench.listener.drain()
                await asyncio.sleep(0)
        stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
        assert stored == bench.rows
        assert runtime.state in (Live.IDLE, Live.FAILED)
        calls = [call.id for row in stored for call in row.calls]
        assert [row.result.call_id for row in stored if row.result] == calls
        assert wire_messages(stored, "p")[-1]["role"] in ("assistant", "user", "tool")
        assert bench.hub.pending() == []
        partial = bench.hub.profile.db.read(lambda tables: tables.partials.read(bench.session_id)).result()
        assert not partial


async def test_an_interrupt_right_after_the_submit_ends_the_turn_and_keeps_the_prompt(bench, served):
    served.reply(text="never asked for")
    bench.hub.submit(bench.session_id, "go")
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    prompts = [row.content for row in bench.rows if row.role is Role.USER]
    assert [*prompts, *bench.hub.runtime(bench.session_id).queue] == ["go"]


async def test_two_interrupts_settle_once(bench, served):
    await start(bench, served)
    await bench.until(lambda event: isinstance(event, RequestOpened))
    assert bench.hub.interrupt(bench.session_id) and bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert len([row for row in bench.rows if row.result]) == 1
