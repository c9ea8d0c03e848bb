"""A server that refuses a request for its size proves how much it takes: the conversation is made smaller, or it is told."""

from __future__ import annotations

import pytest

from agent.events import CompactionEnded, CompactionStarted, Why
from session.invariants import violations
from session.models import ExitReason, Level, Role

LENGTH = "This model's maximum context length is {limit} tokens. However, you requested {size} tokens."
LLAMA = "request ({size} tokens) exceeds the available context size ({limit} tokens), try increasing it"
ANTHROPIC = "prompt is too long: {size} tokens > {limit} maximum"
SILENT = "context_length_exceeded: context window exceeded"
SUM = "context length exceeded: 180225+16384 > 196608"


def events_of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def notices(bench) -> list[str]:
    return [row.content for row in bench.rows if row.role is Role.NOTICE and row.level is not Level.INFO]


def is_sound(bench) -> bool:
    read = bench.hub.profile.db.read
    assert read(lambda tables: tables.messages.all("long")).result() == bench.rows
    assert read(lambda tables: violations(tables, "long")).result() == []
    return True


async def test_A22_an_overflow_in_an_event_compacts_once_and_corrects_the_window(talk, reopen, served):
    bench = await reopen(talk.turns(12, 1_000))
    message = "Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens."
    served.script.append([f'event: error\ndata: {{"error":{{"message":"{message}"}}}}\n\n'])
    served.reply(text="## Aim\nTo see it through.")
    served.reply(text="Here it is.")
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.COMPLETED
    (started,) = events_of(turn.events, CompactionStarted)
    assert started.why is Why.REFUSED
    assert served.requests[0] != served.requests[-1]
    route = bench.hub.runtime("long").s.route
    windows = bench.hub.runtime("long").s.parts.windows
    assert (windows.on(route).window, is_sound(bench)) == (20_000, True)


@pytest.mark.parametrize("window", [None])
@pytest.mark.parametrize("words", [LENGTH, LLAMA, ANTHROPIC, SILENT, SUM])
async def test_A37_every_wording_of_an_overflow_compacts_and_the_turn_goes_on(talk, reopen, strict, words):
    strict.limit, strict.words = 10_000, words
    bench = await reopen(talk.turns(14, 1_000), strict.url)
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.COMPLETED, turn.ended.error
    assert len(events_of(turn.events, CompactionStarted)) == 1
    assert len(set(strict.refused)) == len(strict.refused), "the same was sent twice"
    assert [row.content for row in turn.rows if row.role is Role.ASSISTANT] == ["So it is."]
    assert is_sound(bench)


@pytest.mark.parametrize("window", [None])
async def test_A37_what_no_compaction_makes_small_enough_fails_once_and_clearly(talk, reopen, strict):
    strict.limit = 300
    bench = await reopen(talk.turns(6, 1_000), strict.url)
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.ERROR
    assert len(set(strict.refused)) == len(strict.refused), "the same was sent twice"
    assert turn.ended.error.count("longer than the model's context") == 1
    assert len([text for text in notices(bench) if text == turn.ended.error]) == 1
    assert is_sound(bench)


async def test_A38_an_error_that_only_mentions_context_compacts_nothing(talk, reopen, served):
    bench = await reopen(talk.turns(12, 300))
    words = "model requires more system memory (12 GiB) than is available while loading context"
    served.refuse("500 Internal Server Error", f'{{"error": {{"message": "{words}"}}}}')
    before = [row.content for row in bench.rows]
    turn = await bench.ask("go on")
    assert words in turn.ended.error
    assert not events_of(turn.events, CompactionStarted)
    assert [row.content for row in bench.rows][: len(before)] == before


@pytest.mark.parametrize("window", [65_536])
@pytest.mark.parametrize("words", [LENGTH, SILENT, SUM])
async def test_G06_the_request_for_a_summary_is_made_smaller_until_it_fits(
    talk, reopen, compact, strict, words, window
):
    strict.limit, strict.words = 8_192, words
    bench = await reopen(talk.turns(40, 700), strict.url)
    ended = await compact(bench)
    assert ended.error == "" and ended.rows > 40
    assert strict.refused and len(strict.summaries) > len(strict.refused) + 2, "it took several pieces"
    assert all("The summary of what came before" in str(said[1]) for said in strict.summaries[-2:])
    assert len(set(strict.refused)) == len(strict.refused), "the same was sent twice"
    gone = {row.content for row in talk.rows} - {row.content for row in bench.rows}
    assert all(text[:40] in str(strict.summaries) for text in gone) and is_sound(bench)


@pytest.mark.parametrize("window", [65_536])
async def test_G06_where_nothing_fits_the_error_says_what_was_declared_and_what_the_server_takes(
    talk, reopen, compact, strict
):
    strict.limit, strict.words = 300, LENGTH.replace("{limit}", "8192")
    bench = await reopen(talk.turns(40, 700), strict.url)
    before = list(bench.rows)
    ended = await compact(bench)
    assert "declared 65,536, server 8,192" in ended.error
    assert [row for row in bench.rows if row.role is not Role.NOTICE] == before
    assert len(strict.requests) < 12


@pytest.mark.parametrize("window", [1_048_576])
async def test_G09_served_smaller_than_declared_is_compacted_and_remembered(talk, reopen, strict, open_bench, window):
    strict.limit, strict.words = 37_000, SILENT
    bench = await reopen(talk.turns(40, 1_000), strict.url)
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.COMPLETED, turn.ended.error
    figure = bench.hub.context("long")
    assert figure.declared == window and figure.window is not None and figure.window < 60_000
    assert any(text.startswith("m at served: declared 1,048,576, server ") for text in notices(bench))
    assert is_sound(bench)
    other = await open_bench()
    runtime = await other.hub.open("long")
    assert runtime.s.context().window == figure.window


async def test_where_compaction_is_off_an_overflow_is_told_and_changes_nothing(talk, reopen, strict):
    strict.limit = 10_000
    bench = await reopen(talk.turns(14, 1_000), strict.url, more="compression: {enabled: false}")
    turn = await bench.ask("go on")
    assert "compression.enabled" in turn.ended.error and "/compact" in turn.ended.error
    assert not events_of(turn.events, CompactionStarted) and len(strict.requests) == 1


async def test_where_no_model_summarises_an_outline_lets_the_turn_go_on(talk, reopen, served):
    bench = await reopen(talk.turns(12, 1_000))
    served.refuse("400 Bad Request", '{"error": {"message": "prompt is too long: 21000 tokens > 20000 maximum"}}')
    served.refuse("500 Internal Server Error", '{"error": {"message": "out of order"}}')
    served.reply(text="Going on.")
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.COMPLETED
    summary = next(row for row in bench.rows if row.is_summary)
    assert "No model could be had for a summary" in summary.content and len(summary.content) < 9_000
    assert "question 3" in summary.content or "answer 3" in summary.content
    assert any("An outline of the last of it" in text for text in notices(bench))
    assert is_sound(bench)


async def test_with_abort_on_summary_failure_nothing_is_lost_and_the_turn_fails(talk, reopen, served):
    bench = await reopen(talk.turns(12, 1_000), more="compression: {abort_on_summary_failure: true}")
    before = [row.content for row in bench.rows]
    served.refuse("400 Bad Request", '{"error": {"message": "prompt is too long: 21000 tokens > 20000 maximum"}}')
    served.refuse("500 Internal Server Error", '{"error": {"message": "out of order"}}')
    turn = await bench.ask("go on")
    assert turn.ended.reason is ExitReason.ERROR and "out of order" in turn.ended.error
    assert [row.content for row in bench.rows][: len(before)] == before
    assert (events_of(turn.events, CompactionEnded)[0].rows, is_sound(bench)) == (0, True)
