"""Two windows and one session: one works, the other is told who does, and nothing typed in it is lost."""

from __future__ import annotations

import asyncio
import os
import socket
import time

import pytest

from agent.events import QueueChanged, TurnEnded
from agent.session_run import Live
from session.models import ExitReason


@pytest.fixture
async def two(bench, served, open_bench):
    """Two hermes on one stored session."""
    served.reply(text="Hello.")
    await bench.ask("hi")
    other = await open_bench()
    other.session_id = bench.session_id
    await other.hub.open(bench.session_id)
    return bench, other


async def ended(bench) -> TurnEnded:
    return (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]


async def test_the_second_window_is_told_who_works_and_keeps_its_prompt(two, served):
    first, second = two
    gate = served.hold()
    first.hub.submit(first.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    refused = await second.ask("two")
    told = refused.ended.error
    assert f"the screen, process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%H:')}" in told
    runtime = second.hub.runtime(second.session_id)
    assert (runtime.queue, runtime.queue_is_held) == (("two",), True)
    assert (runtime.state, runtime.elsewhere.process) == (Live.IDLE, f"process {os.getpid()}")
    gate.set()
    await ended(first)
    async with asyncio.timeout(15):
        while runtime.elsewhere is not None:  # the lease is given back behind the end
            await second.hub.catch_up()
    served.reply(text="Now.")
    runtime.release_queue()
    assert (await ended(second)).reason is ExitReason.COMPLETED
    said = [message["content"] for message in served.requests[-1]["messages"][1:]]
    assert said == ["hi", "Hello.", "one", " end", "two"]


async def test_opening_a_session_in_which_a_turn_runs_settles_nothing(bench, served, open_bench):
    gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n')
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.submit(bench.session_id, "two")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    other = await open_bench()
    runtime = await other.hub.open(bench.session_id)
    assert (runtime.state, runtime.queue) == (Live.IDLE, ())
    served.reply(text="Two.")
    gate.set()
    await ended(bench)
    await ended(bench)
    assert [row.content for row in bench.rows[1:]] == ["one", "Half end", "two", "Two."]


@pytest.mark.parametrize("hears", ["at its next beat", "at its next write"])
async def test_a_turn_whose_session_was_taken_over_stops_and_stores_nothing_more(bench, served, monkeypatch, hears):
    monkeypatch.setattr("agent.turn_lease.BEAT_S", 0.05 if hears == "at its next beat" else 60.0)
    gate = served.hold()
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    db = bench.hub.profile.db

    def take_over(tables) -> int:
        sql = "UPDATE leases SET token = 'theirs', host = 'another machine', beat_at = ? WHERE session_id = ?"
        assert tables.connection.run(sql, time.time(), bench.session_id) == 1
        return len(tables.messages.all(bench.session_id))

    stored = db.write(take_over).result()
    if hears == "at its next write":
        gate.set()
    end = await ended(bench)
    assert "took this session over" in end.error
    assert len(db.read(lambda tables: tables.messages.all(bench.session_id)).result()) == stored
    assert db.read(lambda tables: tables.leases.of(bench.session_id)).result().claim.token == "theirs"


async def test_the_holder_gives_a_sign_while_it_works_and_none_after(bench, served, monkeypatch):
    monkeypatch.setattr("agent.turn_lease.BEAT_S", 0.02)
    gate = served.hold()
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)

    def lease():
        return bench.hub.profile.db.read(lambda tables: tables.leases.of(bench.session_id)).result()

    taken = lease()
    async with asyncio.timeout(15):
        while lease().beat_at <= taken.beat_at:
            await asyncio.sleep(0.01)
    gate.set()
    await ended(bench)
    bench.hub.profile.db.write(lambda _: None).result()
    assert lease() is None
