"""The store refuses a write in the middle of a turn: the person is told, nothing is lost, and the next turn works."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

from agent.approvals.inbox import Answer
from agent.events import CallStarted, RequestOpened, TextDelta, TurnEnded
from session.models import Approval, CallOutcome, ExitReason, Finish, Role


def says(text: str) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"


def stored(bench):
    return bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()


async def ended(bench) -> TurnEnded:
    return (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]


async def test_a_prompt_that_finds_the_disk_full_goes_back_to_the_person(bench, served, full_disk):
    with full_disk():
        turn = await bench.ask("hello")
    assert turn.ended.reason is ExitReason.ERROR
    assert "could not be stored" in turn.ended.error
    runtime = bench.hub.runtime(bench.session_id)
    assert (list(runtime.queue), runtime.queue_is_held) == (["hello"], True)
    served.reply(text="Hi.")
    runtime.release_queue()
    assert (await ended(bench)).reason is ExitReason.COMPLETED
    assert [row.content for row in stored(bench) if row.role is not Role.NOTICE] == ["hello", "Hi."]


async def test_a_lock_that_is_let_go_just_after_the_prompt_gave_up_does_not_stall_a_new_session(
    bench, served, monkeypatch
):
    monkeypatch.setattr("session.connection.PATIENCE_S", 0.5)
    with closing(sqlite3.connect(bench.hub.profile.db.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(1.5, other.execute, "ROLLBACK")
        turn = await bench.ask("hello")
    assert "kept locked by another program" in turn.ended.error
    assert list(bench.hub.runtime(bench.session_id).queue) == ["hello"]


async def test_words_that_could_not_be_stored_at_an_interrupt_stand_before_the_next_prompt(bench, served, full_disk):
    served.script.append([says("Half"), says(" an"), asyncio.Event()])
    bench.hub.submit(bench.session_id, "tell me")
    await bench.until(lambda event: isinstance(event, TextDelta) and event.text.endswith(" an"))
    with full_disk():
        bench.hub.interrupt(bench.session_id)
        assert "could not be stored" in (await ended(bench)).error
    served.reply(text="Whole.")
    assert (await bench.ask("again")).ended.reason is ExitReason.COMPLETED
    said = [(row.role, row.content) for row in bench.rows if row.role is not Role.NOTICE]
    assert said == [
        (Role.USER, "tell me"),
        (Role.ASSISTANT, "Half an"),
        (Role.USER, "again"),
        (Role.ASSISTANT, "Whole."),
    ]
    assert stored(bench) == bench.rows


async def test_a_refused_checkpoint_leaves_no_gap_in_what_is_kept(bench, served, full_disk, monkeypatch):
    monkeypatch.setattr("agent.open_session.CHECKPOINT_S", 0.0)
    gates = [asyncio.Event(), asyncio.Event()]
    served.script.append([says("one "), gates[0], says("two "), gates[1], says("three"), asyncio.Event()])
    bench.hub.submit(bench.session_id, "count")
    await bench.until(lambda event: isinstance(event, TextDelta))
    bench.hub.profile.db.write(lambda _: None).result()
    with full_disk():
        gates[0].set()
        await bench.until(lambda event: isinstance(event, TextDelta))
        bench.hub.profile.db.write(lambda _: None).result()
    gates[1].set()
    await bench.until(lambda event: isinstance(event, TextDelta))
    bench.hub.interrupt(bench.session_id)
    await ended(bench)
    assert (bench.rows[-1].content, bench.rows[-1].finish) == ("one two three", Finish.INTERRUPTED)


async def test_a_call_whose_result_was_refused_is_answered_before_the_next_prompt(bench, served, full_disk, workspace):
    command = json.dumps({"command": "until test -e go; do sleep 0.01; done"})
    served.reply({"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": command}})
    bench.hub.submit(bench.session_id, "run it")
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, CallStarted))
    (workspace / "go").touch()
    with full_disk():
        assert "could not be stored" in (await ended(bench)).error
    served.reply(text="Going on.")
    turn = await bench.ask("go on")
    assert [result.outcome for result, _ in turn.results] == [CallOutcome.INTERRUPTED]
    assert [m["role"] for m in served.requests[-1]["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert stored(bench) == bench.rows
