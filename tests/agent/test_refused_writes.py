"""Another program keeps the file locked, or a checkpoint is refused: the person is told, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

from agent.events import CaughtUp, Notice, TextDelta, TurnEnded
from session.connection import PATIENCE_S, Patience
from session.models import ExitReason, Finish


def says(text: str) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"


def stored(bench):
    return bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()


async def ended(bench) -> TurnEnded:
    return (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]


async def test_a_lock_that_is_let_go_just_after_the_prompt_gave_up_does_not_stall_a_new_session(
    bench, served, monkeypatch
):
    monkeypatch.setitem(PATIENCE_S, Patience.TRANSCRIPT, 0.5)
    with closing(sqlite3.connect(bench.hub.profile.db.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(1.5, other.execute, "ROLLBACK")
        turn = await bench.ask("hello")
    assert "kept locked by another program" in turn.ended.error
    assert list(bench.hub.runtime(bench.session_id).queue) == ["hello"]


async def test_a_turn_under_way_goes_on_in_memory_while_another_program_keeps_the_file_locked(
    bench, served, monkeypatch
):
    monkeypatch.setitem(PATIENCE_S, Patience.TRANSCRIPT, 0.2)
    monkeypatch.setitem(PATIENCE_S, Patience.HEARTBEAT, 0.1)
    monkeypatch.setattr("agent.backlog.RETRY_S", 0.05)
    gate = served.hold(says("Half"))
    bench.hub.submit(bench.session_id, "tell me")
    await bench.until(lambda event: isinstance(event, TextDelta))
    await asyncio.wrap_future(bench.hub.profile.db.write(lambda _: None))
    with closing(sqlite3.connect(bench.hub.profile.db.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        gate.set()
        seen = await bench.until(lambda event: isinstance(event, TurnEnded))
        other.execute("ROLLBACK")
    assert seen[-1].reason is ExitReason.COMPLETED
    assert ["is kept locked by another program" in event.text for event in seen if isinstance(event, Notice)] == [True]
    await bench.until(lambda event: isinstance(event, CaughtUp))
    assert bench.rows[-1].content == "Half end"
    assert stored(bench) == bench.rows


async def test_a_refused_checkpoint_leaves_no_gap_in_what_is_kept(bench, served, full_disk, monkeypatch):
    monkeypatch.setattr("agent.open_answer.CHECKPOINT_S", 0.0)
    gates = [asyncio.Event(), asyncio.Event()]
    served.script.append([says("one "), gates[0], says("two "), gates[1], says("three"), asyncio.Event()])
    bench.hub.submit(bench.session_id, "count")
    await bench.until(lambda event: isinstance(event, TextDelta))
    bench.hub.profile.db.write(lambda _: None).result()
    with full_disk():
        gates[0].set()
        await bench.until(lambda event: isinstance(event, TextDelta))
        bench.hub.profile.db.write(lambda _: None).exception()  # it may have shared the checkpoint's transaction
    gates[1].set()
    await bench.until(lambda event: isinstance(event, TextDelta))
    bench.hub.interrupt(bench.session_id)
    await ended(bench)
    assert (bench.rows[-1].content, bench.rows[-1].finish) == ("one two three", Finish.INTERRUPTED)
