"""What is typed behind a running turn is in the store before it is shown, and outlives the process as unsent."""

from __future__ import annotations

import asyncio

from agent.events import Notice, QueueChanged, TurnEnded
from session.models import ExitReason, Role


def queued(bench) -> list[str]:
    rows = bench.hub.profile.db.read(lambda tables: tables.queued.all(bench.session_id)).result()
    return [row.content for row in rows]


async def behind(bench, served, *texts: str) -> asyncio.Event:
    """Queue texts behind a turn that runs until the returned event is set."""
    served.waiting.clear()
    gate = served.hold()
    bench.hub.submit(bench.session_id, "first")
    await asyncio.wait_for(served.waiting.wait(), 15)
    for text in texts:
        bench.hub.submit(bench.session_id, text)
        await bench.until(lambda event: isinstance(event, QueueChanged))
    return gate


async def test_E21_a_text_is_a_row_before_it_is_shown_and_until_its_prompt_is_one(bench, served):
    gate = await behind(bench, served, "second", "third")
    assert (queued(bench), list(bench.hub.runtime(bench.session_id).queue)) == (["second", "third"],) * 2
    served.reply(text="Two.")
    served.reply(text="Three.")
    gate.set()
    for _ in range(3):
        await bench.until(lambda event: isinstance(event, TurnEnded))
    assert queued(bench) == []
    assert [row.content for row in bench.rows if row.role is Role.USER] == ["first", "second", "third"]


async def test_E21_what_was_queued_in_a_new_session_before_its_first_prompt_was_stored_is_kept_in_order(bench, served):
    gate = served.hold()
    for text in ("first", "second", "third"):
        bench.hub.submit(bench.session_id, text)
    await asyncio.wait_for(served.waiting.wait(), 15)
    async with asyncio.timeout(15):
        while bench.hub.runtime(bench.session_id).queue != ("second", "third"):
            await asyncio.sleep(0.01)
    assert queued(bench) == ["second", "third"]  # a row comes before its place in the line
    gate.set()


async def test_E21_at_the_next_opening_it_is_unsent_and_sent_when_the_person_says_so(bench, served, open_bench):
    await behind(bench, served, "second", "third")
    await bench.hub.close("hermes was closed")
    later = await open_bench()
    later.session_id = bench.session_id
    runtime = await later.hub.open(bench.session_id)
    assert (runtime.queue, runtime.queue_is_held, runtime.is_busy) == (("second", "third"), True, False)
    served.reply(text="Two.")
    served.reply(text="Three.")
    runtime.release_queue()
    for _ in range(2):
        await later.until(lambda event: isinstance(event, TurnEnded))
    assert queued(later) == []


async def test_what_is_taken_back_is_unsent_no_more(bench, served, open_bench):
    await behind(bench, served, "second", "third")
    assert bench.hub.runtime(bench.session_id).take_back().text == "third"
    await bench.hub.close("hermes was closed")
    assert queued(bench) == ["second"]


async def test_a_prompt_that_could_not_be_sent_is_the_first_one_again_after_a_restart(bench, served, open_bench):
    gate = await behind(bench, served, "third")
    runtime = bench.hub.runtime(bench.session_id)
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    bench.hub.submit(bench.session_id, "second")
    bench.hub.interrupt(bench.session_id)  # before its turn has begun
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert runtime.queue == ("second", "third")
    gate.set()
    await bench.hub.close("hermes was closed")
    later = await open_bench()
    assert (await later.hub.open(bench.session_id)).queue == ("second", "third")


async def test_a_text_that_is_queued_in_two_windows_is_sent_once(bench, served, open_bench):
    await behind(bench, served, "second")
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    other = await open_bench()
    other.session_id = bench.session_id
    runtime = await other.hub.open(bench.session_id)
    served.reply(text="Two.")
    runtime.release_queue()
    await other.until(lambda event: isinstance(event, TurnEnded))
    bench.hub.runtime(bench.session_id).release_queue()
    end = (await bench.until(lambda event: isinstance(event, TurnEnded)))[-1]
    assert (end.reason, "already sent or taken back" in end.error) == (ExitReason.ERROR, True)
    assert bench.hub.runtime(bench.session_id).queue == ()
    rows = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
    assert [row.content for row in rows if row.role is Role.USER] == ["first", "second"]


async def test_where_the_store_takes_nothing_a_text_waits_in_memory_and_the_person_is_told(bench, served, full_disk):
    await behind(bench, served)
    with full_disk():
        bench.hub.submit(bench.session_id, "second")
        told = await bench.until(lambda event: isinstance(event, Notice))
    assert any(isinstance(event, Notice) and "would be lost if hermes ended now" in event.text for event in told)
    async with asyncio.timeout(15):
        while bench.hub.runtime(bench.session_id).queue != ("second",):
            await asyncio.sleep(0.01)


KEY = "sk-abcdefghijklmnop"


async def test_a_secret_in_a_queued_text_is_in_no_row_and_sent_as_typed(bench, served, home, open_bench):
    (home / ".env").write_text(f"WORK_KEY={KEY}\n")
    (home / ".env").chmod(0o600)
    keyed = await open_bench()
    gate = await behind(keyed, served, f"use {KEY}")
    assert queued(keyed) == ["use [WORK_KEY]"]
    served.reply(text="Used.")
    gate.set()
    for _ in range(2):
        await keyed.until(lambda event: isinstance(event, TurnEnded))
    assert served.requests[-1]["messages"][-1]["content"] == f"use {KEY}"
