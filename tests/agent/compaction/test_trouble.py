"""Compactions among other troubles: long turns, a full disk, another process, a server that counts nothing."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest

from agent.events import CompactionEnded, CompactionStarted, Notice, RowsReplaced, TurnEnded
from session.invariants import violations
from session.models import ExitReason, Role


def is_sound(bench) -> bool:
    read = bench.hub.profile.db.read
    assert read(lambda tables: tables.messages.all("long")).result() == bench.rows
    assert read(lambda tables: violations(tables, "long")).result() == []
    return True


def events_of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def look(number: int) -> dict[str, object]:
    arguments = json.dumps({"path": f"file{number}.txt"})
    return {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": arguments}}


async def test_a_turn_that_reads_more_than_fits_is_compacted_in_its_middle_and_goes_on(talk, reopen, served, workspace):
    bench = await reopen(talk.turns(2, 100))
    for number in range(8):
        (workspace / f"file{number}.txt").write_text(f"file {number} " * 1_200)
        served.reply(look(number), usage=(4_500 + 2_600 * number, 20))
    served.script.insert(6, served.script[0])  # what is asked in between is a summary
    served.script[6] = [
        'data: {"choices":[{"index":0,"delta":{"content":"Six were read."},"finish_reason":"stop"}]}\n\n'
    ]
    served.reply(text="All read.", usage=(9_000, 20))
    bench.hub.submit("long", "read them all")
    events = await bench.until(lambda event: isinstance(event, TurnEnded))
    assert events[-1].reason is ExitReason.COMPLETED, events[-1].error
    assert events_of(events, CompactionEnded) and all(not end.error for end in events_of(events, CompactionEnded))
    assert "read them all" in str(served.requests[-1]["messages"])
    assert sum(row.result is not None for row in bench.rows) >= 1 and is_sound(bench)


async def test_G03_a_server_that_counts_nothing_is_compacted_by_estimate_behind_one_answer(talk, reopen, strict):
    strict.counts = False
    bench = await reopen(talk.turns(20, 900), strict.url)
    first, second = await bench.ask("one"), await bench.ask("two")
    assert not events_of(first.events, CompactionStarted), "the first estimate lets one request through"
    assert len(events_of(second.events, CompactionStarted)) == 1
    assert (second.ended.reason, is_sound(bench)) == (ExitReason.COMPLETED, True)


async def test_on_a_full_disk_the_conversation_stays_and_the_reason_is_told(talk, reopen, compact, strict, full_disk):
    bench = await reopen(talk.turns(12, 300), strict.url)
    before = list(bench.rows)
    with full_disk():
        ended = await compact(bench)
    assert ended.rows == 0 and "stored" in ended.error
    assert [row for row in bench.rows if row.role is not Role.NOTICE] == before
    async with asyncio.timeout(15):
        while bench.hub.runtime("long").s.is_behind:
            await asyncio.sleep(0.05)
    assert is_sound(bench)
    assert (await compact(bench)).error == "" and is_sound(bench)


async def test_a_session_in_which_another_process_works_is_not_compacted(talk, reopen, open_bench, served, compact):
    bench = await reopen(talk.turns(12, 300))
    other = await open_bench()
    await other.hub.open("long")
    other.session_id = "long"
    gate = served.hold()
    other.hub.submit("long", "hold it")
    await asyncio.wait_for(served.waiting.wait(), 5)
    before = list(bench.rows)
    bench.hub.compact("long")
    events = await bench.until(lambda event: isinstance(event, Notice))
    (ended,) = events_of(events, CompactionEnded)
    assert "Another hermes is working in this session" in ended.error and not events_of(events, CompactionStarted)
    assert bench.rows == before
    gate.set()
    await other.until(lambda event: isinstance(event, TurnEnded))


async def test_another_process_takes_the_summary_over_with_its_next_look(talk, reopen, open_bench, strict, compact):
    bench = await reopen(talk.turns(12, 300), strict.url)
    other = await open_bench()
    await other.hub.open("long")
    other.session_id = "long"
    await compact(bench)
    other.listener.drain()
    await other.hub.catch_up()
    assert events_of(other.listener.drain(), RowsReplaced) and other.rows == bench.rows
    await other.ask("go on there")
    await bench.hub.catch_up()
    assert is_sound(bench)


async def test_a_session_that_is_deleted_meanwhile_gets_no_summary(talk, reopen, served):
    bench = await reopen(talk.turns(12, 300))
    gate = served.hold('data: {"choices":[{"index":0,"delta":{"content":"a summary"}}]}\n\n')
    bench.hub.compact("long")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.profile.db.write(lambda tables: tables.sessions.delete("long", 9.0)).result()
    gate.set()
    (ended,) = events_of(await bench.until(lambda event: isinstance(event, CompactionEnded)), CompactionEnded)
    assert "was deleted" in ended.error and ended.rows == 0
    assert bench.hub.runtime("long").is_deleted
    assert bench.hub.profile.db.read(lambda tables: violations(tables, "long")).result() == []


async def test_the_end_of_hermes_stops_a_compaction_and_leaves_all_as_it_was(talk, reopen, served):
    bench = await reopen(talk.turns(12, 300))
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"a summary"}}]}\n\n')
    bench.hub.compact("long")
    await asyncio.wait_for(served.waiting.wait(), 5)
    await bench.hub.runtime("long").close("hermes was closed")
    assert not bench.hub.runtime("long").is_busy and not any(row.is_summary for row in bench.rows)
    with suppress(TimeoutError):
        assert is_sound(bench)


@pytest.mark.parametrize("more_config", ["agent: {api_max_retries: 3, stream_retries: 2}"])
async def test_G07_no_more_requests_fail_for_one_summary_than_attempts_are_allowed(
    talk, reopen, compact, served, more_config, monkeypatch
):
    bench = await reopen(talk.turns(12, 300), more="compression: {max_attempts: 2}")
    monkeypatch.setattr("agent.providers.retry.backoff_s", lambda failures, kind=None: 0.0)
    for _ in range(4):
        served.refuse("500 Internal Server Error", '{"error": {"message": "out of order"}}')
    ended = await compact(bench)
    assert "out of order" in ended.error and len(served.requests) == 2


async def test_the_demo_shows_an_outline(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(12, 300), strict.url)
    await bench.hub.runtime("long").switch(bench.hub.models.resolve("demo", bench.hub.runtime("long").s.route))
    assert (await compact(bench)).error == ""
    assert "No model could be had" in next(row.content for row in bench.rows if row.is_summary)
    assert strict.requests == [] and is_sound(bench)
