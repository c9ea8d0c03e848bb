"""Many sessions, one door: each keeps to itself, and nothing that is left behind is lost."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import TurnEnded
from agent.hub import NoSuchSession
from agent.session_run import Live
from session.models import ExitReason, Finish, Role


async def test_a_session_leaves_no_trace_until_its_first_prompt(bench, served):
    assert await bench.hub.listing() == []
    served.reply(text="Hello.")
    await bench.ask("Explain the build")
    [line] = await bench.hub.listing()
    assert line.session.title == "Explain the build"


async def test_the_first_row_says_which_model_was_chosen_and_why(bench, served):
    served.reply(text="Hello.")
    await bench.ask("hi")
    notice = bench.rows[0]
    assert notice.role is Role.NOTICE
    assert "served" in notice.content


async def test_two_sessions_work_at_once_and_each_gets_its_own_answer(bench, served):
    other = bench.hub.create(bench.workspace).id
    first_gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
    bench.hub.submit(bench.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 5)
    served.reply(text="two")
    bench.hub.submit(other, "second")
    await bench.until(lambda event: isinstance(event, TurnEnded) and event.at.session == other)
    assert bench.hub.runtime(bench.session_id).state is Live.WORKING
    assert bench.hub.runtime(other).s.rows[-1].content == "two"
    first_gate.set()
    await bench.until(lambda event: isinstance(event, TurnEnded) and event.at.session == bench.session_id)
    assert bench.rows[-1].content == "one end"


async def test_G13_a_model_switch_changes_one_session_only(bench, served):
    other = bench.hub.create(bench.workspace).id
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.switch(bench.hub.models.resolve("served:big", runtime.s.route))
    served.reply(text="x")
    served.reply(text="y")
    await bench.ask("hi")
    bench.hub.submit(other, "hi")
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [request["model"] for request in served.requests] == ["big", "m"]


async def test_a_switched_model_is_there_again_after_a_restart(bench, served):
    served.reply(text="x")
    await bench.ask("hi")
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.switch(bench.hub.models.resolve("served:big", runtime.s.route))
    stored = bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)).result()
    assert stored.route.model == "big"


async def test_closing_settles_the_turn_and_leaves_the_session_open(bench, served):
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n')
    bench.hub.submit(bench.session_id, "tell")
    await asyncio.wait_for(served.waiting.wait(), 5)
    await bench.hub.close("hermes was closed")
    read = bench.hub.profile.db.read
    session = read(lambda tables: tables.sessions.get(bench.session_id)).result()
    rows = read(lambda tables: tables.messages.all(bench.session_id)).result()
    assert session.ended_at is None and session.end_reason is None
    assert (rows[-1].content, rows[-1].finish) == ("Half", Finish.INTERRUPTED)


async def test_a_failed_turn_says_why_in_the_transcript_and_the_next_one_works(bench, served):
    served.script.append(['data: {"error":{"message":"quota exceeded","code":429}}\n\n'])
    turn = await bench.ask("hi")
    assert turn.ended.reason is ExitReason.ERROR
    assert "quota exceeded" in bench.rows[-1].content
    served.reply(text="fine")
    assert (await bench.ask("again")).ended.reason is ExitReason.COMPLETED


async def test_a_session_that_is_not_there_is_a_sentence(bench):
    with pytest.raises(NoSuchSession, match="no session nope"):
        await bench.hub.open("nope")


async def test_a_session_that_is_asked_for_twice_at_once_is_opened_once(bench, served, open_bench):
    served.reply(text="Hello.")
    await bench.ask("hi")
    other = await open_bench()
    first, second = await asyncio.gather(other.hub.open(bench.session_id), other.hub.open(bench.session_id))
    assert first is second


async def test_what_another_process_said_in_a_session_is_part_of_the_next_request(bench, served, open_bench):
    served.reply(text="one")
    await bench.ask("first")
    other = await open_bench()
    other.session_id = bench.session_id
    await other.hub.open(bench.session_id)
    served.reply(text="two")
    await other.ask("second")
    served.reply(text="three")
    await bench.ask("third")
    said = [message["content"] for message in served.requests[-1]["messages"][1:]]
    assert said == ["first", "one", "second", "two", "third"]
    assert bench.rows == bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()


async def test_a_stored_model_whose_key_is_gone_is_told_before_anything_is_sent(bench, served, home, open_bench):
    config = home / "config.yaml"
    plain = config.read_text()
    config.write_text(plain.replace("base_url", "key_env: SERVED_KEY, base_url"))
    env = home / ".env"
    env.write_text("SERVED_KEY=sk-abcdefgh\n")
    env.chmod(0o600)
    keyed = await open_bench()
    served.reply(text="Hello.")
    await keyed.ask("hi")
    env.unlink()
    config.write_text(plain)
    later = await open_bench()
    later.session_id = keyed.session_id
    await later.hub.open(keyed.session_id)
    turn = await later.ask("still there?")
    assert "The provider served needs a key. Give it with /key SERVED_KEY on the screen" in turn.ended.error
    assert len(served.requests) == 1
    runtime = later.hub.runtime(later.session_id)
    await runtime.switch(later.hub.models.resolve("served:m", runtime.s.route))
    served.reply(text="Yes.")
    assert (await later.ask("and now?")).ended.reason is ExitReason.COMPLETED
    assert served.requests[-1]["messages"][-1]["content"] == "still there?\n\nand now?"


async def test_what_ended_unseen_is_unread_also_after_a_restart_until_somebody_looks(bench, served, open_bench):
    async def unread(one) -> bool:
        (line,) = [line for line in await one.hub.listing() if line.session.id == bench.session_id]
        return line.is_unread

    for text in ("one", "two"):
        served.reply(text=text)
    await bench.ask("seen")
    bench.hub.mark_read(bench.session_id)
    assert not await unread(await open_bench())
    await bench.ask("not seen")
    other = await open_bench()
    assert (await unread(bench), await unread(other)) == (True, True)
    await other.hub.open(bench.session_id)
    assert await unread(other)  # opening it, as a command may, is not looking
    other.hub.mark_read(bench.session_id)
    assert (await unread(other), await unread(await open_bench())) == (False, False)
