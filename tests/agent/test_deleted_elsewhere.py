"""A deleted session stays deleted: a turn in it is stopped, nothing of it is stored again, and the person is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from agent.approvals.inbox import Answer
from agent.events import CallOutput, Notice, QueueChanged, RequestOpened, TurnEnded
from agent.hub import NoSuchSession
from agent.watcher import Watcher
from session.invariants import violations
from session.models import Approval, EndReason, ExitReason

SENTENCE = "was deleted, so nothing more is stored in it"


def command(text: str) -> dict[str, object]:
    return {"id": "x", "type": "function", "function": {"name": "terminal", "arguments": json.dumps({"command": text})}}


async def streaming(bench, served) -> None:
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n')
    bench.hub.submit(bench.session_id, "go")
    await asyncio.wait_for(served.waiting.wait(), 5)


async def asking(bench, served) -> None:
    served.reply(command("touch it"))
    bench.hub.submit(bench.session_id, "go")
    await bench.until(lambda event: isinstance(event, RequestOpened))


async def calling(bench, served) -> None:
    served.reply(command("echo $$ > pid; echo begun; exec sleep 60"))
    bench.hub.submit(bench.session_id, "go")
    opened = (await bench.until(lambda event: isinstance(event, RequestOpened)))[-1]
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, CallOutput))


def is_gone(bench) -> bool:
    """Whether nothing of the session is in the store but its tombstone."""
    bench.hub.profile.db.write(lambda _: None).result()  # what was on its way has come
    return bench.hub.profile.db.read(
        lambda tables: tables.sessions.is_deleted(bench.session_id) and not violations(tables, bench.session_id)
    ).result()


def delete(bench) -> None:
    bench.hub.profile.db.write(lambda tables: tables.sessions.delete(bench.session_id, 2.0)).result()


Begin = Callable[..., object]


@pytest.mark.parametrize("begin", [streaming, asking, calling])
async def test_E18_a_run_in_a_session_that_is_deleted_elsewhere_is_stopped(bench, served, open_bench, begin: Begin):
    await begin(bench, served)
    bench.hub.submit(bench.session_id, "and then")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    watcher = Watcher(bench.hub, lambda: True, lambda _: None)
    await watcher.look()
    delete(await open_bench_on(bench, open_bench))
    assert await watcher.look()
    end = (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]
    assert (end.reason, SENTENCE in end.error) == (ExitReason.ERROR, True)
    assert bench.hub.pending() == []
    assert is_gone(bench)
    if begin is calling:
        assert not is_alive(int((bench.workspace / "pid").read_text()))


def is_alive(pid: int) -> bool:
    from session.process import is_taken, system

    return is_taken(pid) and system.started(pid) is not None


async def open_bench_on(bench, open_bench):
    other = await open_bench()
    other.session_id = bench.session_id
    return other


@pytest.mark.parametrize("begin", [streaming, asking, calling])
async def test_E18_a_run_that_nobody_watches_is_stopped_by_the_beat_of_its_lease(
    bench, served, monkeypatch, begin: Begin
):
    monkeypatch.setattr("agent.turn_lease.BEAT_S", 0.05)
    await begin(bench, served)
    delete(bench)
    end = (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]
    assert SENTENCE in end.error
    assert is_gone(bench)


async def test_E18_a_write_into_a_deleted_session_ends_the_turn_with_its_sentence(bench, served):
    gate = served.hold()
    bench.hub.submit(bench.session_id, "go")
    await asyncio.wait_for(served.waiting.wait(), 5)
    delete(bench)
    gate.set()
    end = (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]
    assert SENTENCE in end.error
    assert is_gone(bench)


@pytest.mark.parametrize("begin", [streaming, asking, calling])
async def test_E18_deleting_here_stops_the_run_first(bench, served, begin: Begin):
    await begin(bench, served)
    await bench.hub.end(bench.session_id, EndReason.DELETED)
    assert not bench.hub.runtime(bench.session_id).is_busy
    assert is_gone(bench)
    assert bench.session_id not in [line.session.id for line in await bench.hub.listing()]
    with pytest.raises(NoSuchSession):
        await bench.hub.open(bench.session_id)


async def test_E18_an_idle_window_is_told_once_and_what_is_sent_in_it_goes_back(bench, served, open_bench):
    served.reply(text="Hello.")
    await bench.ask("hi")
    other = await open_bench_on(bench, open_bench)
    await other.hub.open(bench.session_id)
    watcher = Watcher(other.hub, lambda: True, lambda _: None)
    await watcher.look()
    delete(bench)
    await watcher.look()
    bench.hub.profile.db.write(lambda tables: tables.state.put("k", "v")).result()
    await watcher.look()
    assert [SENTENCE in event.text for event in other.listener.drain() if isinstance(event, Notice)] == [True]
    refused = await other.ask("still there?")
    assert SENTENCE in refused.ended.error
    assert other.hub.runtime(bench.session_id).queue == ("still there?",)
    assert is_gone(bench)
