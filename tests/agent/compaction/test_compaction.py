"""A conversation is made smaller in one step, by a person's word or at its threshold, and can be brought back."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from agent.context.compaction import plan_of
from agent.context.plan import EMPTY
from agent.context.record import column_of, record_of
from agent.context.summary_text import END, PREFACE
from agent.events import (
    CompactionEnded,
    CompactionStarted,
    Notice,
    QueueChanged,
    RowsReplaced,
    RowStored,
    TurnEnded,
    Why,
)
from agent.session_run import SessionBusy
from agent.tools.seen_files import FileState, SeenLines
from session.errors import AnsweredSinceCompaction, NoCompactionToUndo
from session.invariants import violations
from session.models import ExitReason, Level, Role

SUMMARY = "## Aim\nTo see it through."


def texts(bench, role: Role | None = None) -> list[str]:
    return [row.content for row in bench.rows if role is None or row.role is role]


def is_sound(bench) -> bool:
    """The rows are those of the store, and the store is as it should be."""
    read = bench.hub.profile.db.read
    assert read(lambda tables: tables.messages.all(bench.session_id)).result() == bench.rows
    assert read(lambda tables: violations(tables, bench.session_id)).result() == []
    return True


def notices(bench, level: Level = Level.WARNING) -> list[str]:
    return [row.content for row in bench.rows if row.role is Role.NOTICE and row.level is level]


def events_of(events, kind):
    return [event for event in events if isinstance(event, kind)]


async def test_a_person_compacts_and_the_next_request_says_the_summary_and_what_is_kept(
    talk, reopen, served, compact, strict
):
    bench = await reopen(talk.turns(12, 300), strict.url)
    ended = await compact(bench)
    assert (ended.error, ended.rows > 4, ended.after < ended.before) == ("", True, True)
    summary = next(row for row in bench.rows if row.is_summary)
    assert summary.role is Role.USER
    assert summary.content.startswith(PREFACE) and SUMMARY in summary.content and summary.content.endswith(END)
    assert texts(bench)[:2] == ["question 0", talk.rows[1].content]
    assert texts(bench, Role.USER)[-1] == "question 11"
    assert notices(bench, Level.INFO)[-1].startswith("Compacted from ")
    assert is_sound(bench)
    await bench.ask("and now?")
    said = strict.requests[-1]
    assert sum(SUMMARY in str(message["content"]) for message in said) == 1
    assert [message["role"] for message in said[1:]] == ["user", "assistant"] * ((len(said) - 2) // 2) + ["user"]
    assert is_sound(bench)


async def test_a_compaction_is_no_turn_and_its_cost_is_a_task_of_its_own(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(12, 300), strict.url)
    await compact(bench)
    runtime, read = bench.hub.runtime("long"), bench.hub.profile.db.read
    assert not runtime.is_busy
    assert read(lambda tables: tables.connection.value("SELECT count(*) FROM turns")).result() == 0
    (spent,) = read(lambda tables: tables.usage.totals("long")).result()
    assert (spent.task, spent.requests) == ("summary", 1)
    assert runtime.s.session.anchors == ""
    assert bench.hub.context("long").is_estimate


async def test_what_is_summarised_stays_searchable(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(12, 300), strict.url)
    await compact(bench)
    assert "question 4" not in texts(bench)
    found = bench.hub.profile.db.read(lambda tables: tables.messages.count("long")).result()
    assert found == len(bench.rows)
    kept = bench.hub.profile.db.read(lambda tables: tables.transcripts.count("long")).result()
    assert kept == len(talk.rows) + 2


async def test_a_focus_goes_to_the_model(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(12, 300), strict.url)
    await compact(bench, "the port numbers")
    assert "the port numbers" in strict.summaries[0][1]["content"]


async def test_a_small_conversation_stays_and_says_why(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(2, 50), strict.url)
    ended = await compact(bench)
    assert ended.rows == 0 and "word for word" in ended.error
    assert (strict.requests, notices(bench)) == ([], [ended.error])


async def test_a_session_without_a_word_has_nothing_to_compact_and_says_so(bench):
    bench.hub.compact(bench.session_id)
    events = await bench.until(lambda event: isinstance(event, CompactionEnded))
    (told,) = events_of(events, Notice)
    assert told.text == events_of(events, CompactionEnded)[0].error == EMPTY
    assert not bench.hub.runtime(bench.session_id).s.is_stored


async def test_a_small_conversation_is_not_called_small_where_it_does_not_fit(talk, reopen, compact, strict):
    rules = "agent: {system_prompt: '" + "rule " * 20_000 + "'}"
    bench = await reopen(talk.turns(2, 50), strict.url, more=rules)
    for told in ((await compact(bench)).error, (await plan_of(bench.hub.runtime("long").s)).why_not):
        assert "no compaction can help" in told


async def test_a_person_is_told_of_the_conversation_without_the_thinking_that_the_next_prompt_leaves_behind(
    talk, reopen, compact, strict
):
    for number in range(6):
        talk.turns(1, 800)
        talk.rows[-1] = replace(talk.rows[-1], reasoning=f"thought {number}, and so on. " * 300)
    bench = await reopen(talk, strict.url, provider="compatibility: {echo_reasoning: true}")
    figure = bench.hub.context("long")
    plan = await plan_of(bench.hub.runtime("long").s)
    assert plan.before == pytest.approx(figure.used, rel=0.01)
    ended = await compact(bench)
    assert (ended.error, ended.before) == ("", figure.used)
    assert ended.after == pytest.approx(bench.hub.context("long").used, rel=0.05)


async def test_nothing_else_runs_in_a_session_that_is_compacted_and_prompts_wait(talk, reopen, served):
    bench = await reopen(talk.turns(12, 300))
    gate = served.hold(SSE)
    bench.hub.compact("long")
    await bench.until(lambda event: isinstance(event, CompactionStarted))
    with pytest.raises(SessionBusy):
        bench.hub.compact("long")
    with pytest.raises(SessionBusy):
        await bench.hub.undo_compaction("long")
    bench.hub.submit("long", "meanwhile")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    assert bench.hub.runtime("long").queue == ("meanwhile",)
    served.reply(text="Yes?")
    await asyncio.wait_for(served.waiting.wait(), 5)
    gate.set()
    events = await bench.until(lambda event: isinstance(event, TurnEnded))
    kinds = [type(event) for event in events]
    assert kinds.index(RowsReplaced) < kinds.index(CompactionEnded) < kinds.index(TurnEnded)
    assert texts(bench)[-1] == "Yes?" and "meanwhile" in texts(bench, Role.USER)
    assert is_sound(bench)


SSE = 'data: {"choices":[{"index":0,"delta":{"content":"a summary"}}]}\n\n'


async def test_a_compaction_that_is_stopped_leaves_all_as_it_was(talk, reopen, served):
    bench = await reopen(talk.turns(12, 300))
    before = list(bench.rows)
    served.hold(SSE)
    bench.hub.compact("long")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.submit("long", "meanwhile")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    assert bench.hub.interrupt("long")
    (ended,) = events_of(await bench.until(lambda event: isinstance(event, CompactionEnded)), CompactionEnded)
    assert ended.error == "The compaction was stopped; the conversation is as it was."
    assert bench.rows == before and is_sound(bench)
    assert bench.hub.runtime("long").queue == ("meanwhile",)
    assert not bench.hub.runtime("long").is_busy


async def test_a_file_that_was_read_is_told_again_behind_a_compaction(talk, reopen, compact, strict, workspace):
    bench = await reopen(talk.turns(12, 300), strict.url)
    seen, state = bench.hub.runtime("long").s.place.seen, FileState(9, 1, 1, "digest")
    seen.note_read(workspace / "a", state, SeenLines(1, 3, 3))
    await compact(bench)
    assert not seen.is_shown(workspace / "a", state, 1, 3)
    assert seen.knows_whole(workspace / "a")


# --- undo


async def test_a_compaction_is_undone_until_the_next_answer(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(12, 300), strict.url)
    before = list(bench.rows)
    await compact(bench)
    bench.listener.drain()
    await bench.hub.undo_compaction("long")
    assert [row for row in bench.rows if row.role is not Role.NOTICE] == before
    assert "is undone" not in notices(bench, Level.INFO)[-1] and "undone" in notices(bench, Level.INFO)[-1]
    assert events_of(bench.listener.drain(), RowsReplaced) and is_sound(bench)
    with pytest.raises(NoCompactionToUndo):
        await bench.hub.undo_compaction("long")
    await compact(bench)
    await bench.ask("go on")
    with pytest.raises(AnsweredSinceCompaction):
        await bench.hub.undo_compaction("long")
    assert is_sound(bench) and not bench.hub.runtime("long").is_busy


async def test_what_was_undone_is_not_compacted_again_unasked(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(17, 1_000), strict.url)
    await compact(bench)
    await bench.hub.undo_compaction("long")
    for text in ("on", "and on"):
        turn = await bench.ask(text)
        assert not events_of(turn.events, CompactionStarted)
    assert sum("/compact does it" in text for text in notices(bench)) == 1
    assert (await compact(bench)).error == ""


async def test_what_came_to_nothing_leaves_an_undone_one_undone(talk, reopen, compact, strict):
    bench = await reopen(talk.turns(17, 1_000), strict.url)
    await compact(bench)
    await bench.hub.undo_compaction("long")
    strict.status, strict.limit = "500 Internal Server Error", 0
    assert "No model could summarise" in (await compact(bench)).error
    assert record_of(bench.hub.runtime("long").s.session.compaction).is_held


async def test_an_answer_is_announced_though_the_turn_is_stopped_while_its_reading_is_noted(
    talk, reopen, compact, strict
):
    bench = await reopen(talk.turns(12, 300), strict.url)
    await compact(bench)
    bench.hub.submit("long", "next")
    async with asyncio.timeout(15):
        while bench.rows[-1].content != "So it is.":
            await asyncio.sleep(0)
    bench.hub.interrupt("long")
    events = await bench.until(lambda event: isinstance(event, TurnEnded))
    assert [event.row for event in events_of(events, RowStored) if event.row.role is Role.ASSISTANT] == [
        row for row in bench.rows if row.content == "So it is."
    ]


# --- at the threshold


async def test_a_conversation_over_its_threshold_is_compacted_before_the_next_request(talk, reopen, served):
    bench = await reopen(talk.turns(8, 1_000))
    served.reply(text="Fine.", usage=(18_000, 10))
    assert not events_of((await bench.ask("how full?")).events, CompactionStarted)
    served.reply(text=SUMMARY)
    served.reply(text="Done.", usage=(4_000, 10))
    turn = await bench.ask("next")
    (started,) = events_of(turn.events, CompactionStarted)
    assert started.why is Why.FULL and started.tokens >= 18_000
    assert turn.ended.reason is ExitReason.COMPLETED
    kinds = [type(event) for event in turn.events]
    assert kinds.index(CompactionEnded) < kinds.index(TurnEnded)
    assert "next" in str(served.requests[-1]["messages"][-1]["content"])
    assert is_sound(bench)


async def test_G04_the_figure_drops_at_once(talk, reopen, served):
    bench = await reopen(talk.turns(8, 1_000))
    served.reply(text="Fine.", usage=(19_000, 10))
    await bench.ask("how full?")
    assert bench.hub.context("long").percent == 95
    served.reply(text=SUMMARY)
    gate = served.hold()
    bench.hub.submit("long", "next")
    await bench.until(lambda event: isinstance(event, CompactionEnded))
    figure = bench.hub.context("long")
    assert figure.is_estimate and figure.used < 12_000
    gate.set()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert is_sound(bench)


async def test_G04_no_second_compaction_follows_before_a_new_reading(talk, reopen, served):
    """What the person sends is so long that the conversation seems too large for the window behind the compaction, too."""
    bench = await reopen(talk.turns(8, 1_000))
    served.reply(text=SUMMARY)
    served.refuse("500 Internal Server Error", '{"error": {"message": "out of order"}}')
    served.reply(text="Done.", usage=(16_000, 10))
    first = await bench.ask("lazy dog " * 9_600)
    assert bench.hub.context("long").used > 20_000
    second = await bench.ask("and?")
    assert (first.ended.reason, second.ended.reason) == (ExitReason.ERROR, ExitReason.COMPLETED)
    assert [len(events_of(turn.events, CompactionStarted)) for turn in (first, second)] == [1, 0]
    assert (len(served.requests), is_sound(bench)) == (3, True)


@pytest.mark.parametrize("window", [32_768])
@pytest.mark.parametrize("more_config", ["agent: {system_prompt: '" + "rule after rule " * 7_500 + "'}"])
async def test_G05_a_threshold_below_the_fixed_part_is_named_and_never_looped_on(talk, reopen, served, window):
    bench = await reopen(talk)
    for number in range(5):
        served.reply(text="Fine.", usage=(29_500 + number, 10))
        turn = await bench.ask(f"prompt {number}")
        assert turn.ended.reason is ExitReason.COMPLETED
    assert served.script == [] and len(served.requests) == 5, "each prompt took one request"
    said = notices(bench)
    assert len([text for text in said if "The system prompt and the tool definitions alone take" in text]) == 1
    assert len([text for text in said if "so none is made by itself any more" in text]) == 1


async def test_G07_a_summary_that_fails_again_and_again_leaves_the_history_and_the_turn_goes_on(talk, reopen, served):
    bench = await reopen(talk.turns(8, 1_000), more="compression: {max_attempts: 3}")
    served.reply(text="Fine.", usage=(18_000, 10))
    await bench.ask("how full?")
    before = texts(bench)
    for _ in range(3):
        served.refuse("500 Internal Server Error", '{"error": {"message": "out of order"}}')
        served.reply(text="Fine.", usage=(18_100, 10))
        turn = await bench.ask("go on")
        assert turn.ended.reason is ExitReason.COMPLETED
        (ended,) = events_of(turn.events, CompactionEnded)
        assert (ended.rows, "out of order" in ended.error) == (0, True)
        rest(bench)
    served.reply(text="Fine.", usage=(18_100, 10))
    assert not events_of((await bench.ask("go on")).events, CompactionStarted), "three are enough"
    assert texts(bench)[: len(before)] == before
    assert [text.partition(",")[0] for text in notices(bench) if "No model could summarise" in text][1:] == [
        "No model could summarise the conversation 3 times in a row"
    ]
    assert served.script == [] and is_sound(bench)


def rest(bench) -> None:
    """Let the pause after a failure be over."""
    record = record_of(bench.hub.runtime("long").s.session.compaction)
    assert record.retry_at > 0
    column = column_of(replace(record, retry_at=0.0))
    bench.hub.profile.db.write(lambda tables: tables.sessions.set_compaction("long", column)).result()


async def test_a_failed_summary_is_not_tried_again_before_its_pause_is_over(talk, reopen, served):
    bench = await reopen(talk.turns(8, 1_000))
    served.reply(text="Fine.", usage=(18_000, 10))
    await bench.ask("how full?")
    served.refuse("500 Internal Server Error", '{"error": {"message": "out of order"}}')
    for _ in range(2):
        served.reply(text="Fine.", usage=(18_100, 10))
        await bench.ask("go on")
    served.reply(text=SUMMARY)
    bench.hub.compact("long")
    (ended,) = events_of(await bench.until(lambda event: isinstance(event, CompactionEnded)), CompactionEnded)
    assert ended.error == "", "a person's word does not wait"
