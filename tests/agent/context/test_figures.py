"""The figure of a session through the whole runtime: after each answer, after another process, after a restart."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from agent.context.meter import ContextFigure, FigureSource
from agent.events import UsageRead
from agent.providers.base import Reply
from session.models import ExitReason, Finish, Message, Role, Route, Usage

LOOK = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'}}
LONG = "Please find out why the nightly build of the documentation has been failing since Tuesday, and mend it"


def figure(bench: Any) -> ContextFigure:
    return bench.hub.context(bench.session_id)


def session(bench: Any) -> Any:
    return bench.hub.profile.db.read(lambda tables: tables.sessions.get(bench.session_id)).result()


def sse(*events: dict[str, object]) -> list[str]:
    return [f"data: {json.dumps(event)}\n\n" for event in events]


def chat_answer(text: str, usage: dict[str, object] | None) -> list[str]:
    said = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    return [*sse(said, *([{"choices": [], "usage": usage}] if usage is not None else [])), "data: [DONE]\n\n"]


def responses_answer(text: str, usage: dict[str, object]) -> list[str]:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    return sse(done, {"type": "response.completed", "response": {"status": "completed", "usage": usage}})


async def reopened(open_bench: Callable[..., Any], bench: Any) -> Any:
    """The same session in a hub and a store of its own, as another process has it."""
    other = await open_bench()
    await other.hub.open(bench.session_id)
    other.session_id = bench.session_id
    return other


@pytest.fixture
def windowed(home: Path, served: Any, open_bench: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a hub whose model has a window of 200,000 tokens."""

    async def opened(more: str = "", api_mode: str = "chat_completions") -> Any:
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(
            "model: {default: m, provider: served}\nprobe_local: false\n"
            f"providers: {{served: {{context_length: 200000, base_url: '{served.url}', api_mode: {api_mode}}}}}\n{more}\n"
        )
        return await open_bench()

    return opened


# --- both protocols


async def test_G01_cached_tokens_are_counted_once_on_chat(bench, served):
    usage = {"prompt_tokens": 10_000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 9_000}}
    served.script.append(chat_answer("Hi", usage))
    await bench.ask("hello")
    assert figure(bench).used == 10_000


async def test_G01_cached_tokens_are_counted_once_on_responses(windowed, served):
    bench = await windowed(api_mode="responses")
    usage = {"input_tokens": 10_000, "output_tokens": 0, "input_tokens_details": {"cached_tokens": 9_000}}
    served.script.append(responses_answer("Hi", usage))
    await bench.ask("hello")
    assert (figure(bench).used, figure(bench).percent) == (10_000, 5)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
async def test_G03_without_a_count_the_figure_is_an_estimate(bench, served, usage: dict[str, object] | None):
    served.script.append(chat_answer("Hi", usage))
    await bench.ask("hello")
    assert (figure(bench).source, figure(bench).is_estimate) == (FigureSource.ESTIMATE, True)
    assert figure(bench).used > 100
    served.reply(text="Hi", usage=(7_000, 5))
    await bench.ask("again")
    served.script.append(chat_answer("Hi", usage))
    await bench.ask("and again")
    assert (figure(bench).source, figure(bench).used > 7_005) == (FigureSource.PROVIDER_PLUS_ESTIMATE, True)


async def test_G12_ten_turns_of_20k_fill_20k_of_the_window_and_the_total_is_another_number(windowed, served):
    bench = await windowed()
    for turn in range(10):
        served.reply(text="Yes", usage=(20_000, 5))
        await bench.ask(f"question {turn}")
    spent = bench.hub.profile.db.read(lambda tables: tables.usage.totals(bench.session_id)).result()
    assert (figure(bench).used, figure(bench).percent, spent[0].usage.input) == (20_005, 10, 200_000)


async def test_G13_another_model_in_one_session_changes_nothing_in_the_other(windowed, served):
    bench = await windowed()
    served.reply(text="Hi", usage=(20_000, 5))
    await bench.ask("hello")
    before = figure(bench)
    assert (before.window, before.threshold) == (200_000, 150_000)
    other = bench.hub.create(bench.workspace)
    await other.switch(replace(other.s.route, model="small", window=32_000))
    assert bench.hub.context(other.id).window == 32_000
    assert figure(bench) == before


# --- as it happens


async def test_the_figure_follows_each_answer_and_each_result(bench, served, workspace):
    (workspace / "a.txt").write_text("a line of the file\n" * 200)
    answers = asyncio.Event()
    served.reply(LOOK, usage=(5_000, 20))
    served.script.append([answers, *chat_answer("Done.", {"prompt_tokens": 6_400, "completion_tokens": 10})])
    asked = asyncio.create_task(bench.ask("look"))
    await asyncio.wait_for(served.waiting.wait(), 5)
    assert figure(bench).used > 5_500
    answers.set()
    read = [event.context for event in (await asked).events if isinstance(event, UsageRead)]
    assert [(one.used, one.source) for one in read] == [(5_020, FigureSource.PROVIDER), (6_410, FigureSource.PROVIDER)]
    assert figure(bench) == read[-1]


async def test_a_request_for_a_title_moves_nothing(bench, served):
    served.reply(text="It was a missing package.", usage=(5_000, 5))
    served.reply(text="Failing build", usage=(90_000, 5))
    await bench.ask(LONG)
    await bench.until(lambda event: type(event).__name__ == "SessionNamed")
    assert figure(bench).used == 5_005


async def test_a_personality_and_the_title_of_a_session_move_nothing(bench, served):
    served.reply(text="Hi", usage=(5_000, 5))
    await bench.ask("hello")
    before = figure(bench)
    await bench.hub.runtime(bench.session_id).set_personality("teacher")
    assert figure(bench) == before


async def test_another_model_is_estimated_and_the_first_one_finds_its_count_again(bench, served):
    served.reply(text="Hi", usage=(5_000, 5))
    await bench.ask("hello")
    runtime = bench.hub.runtime(bench.session_id)
    chosen, before = runtime.s.route, figure(bench)
    await runtime.switch(replace(chosen, model="other"))
    assert figure(bench).source is FigureSource.ESTIMATE
    await runtime.switch(chosen)
    assert figure(bench) == before


async def test_A39_a_prompt_that_was_cut_is_marked_and_told(bench, served):
    served.reply(text="Hi", usage=(4_096, 5))
    turn = await bench.ask("word " * 8_000)
    assert (figure(bench).source, figure(bench).unread > 3_000) == (FigureSource.ESTIMATE, True)
    assert figure(bench).used > 8_000
    assert any("num_ctx" in row.content for row in turn.rows if row.role is Role.NOTICE)


# --- another process, and a restart

FIGURE = """
import asyncio, json, sys
from msgspec import to_builtins
from agent.open import open_hub
from agent.profile import Profile

async def run(home, session_id):
    profile = Profile.load({"HERMES_HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"})
    hub = await open_hub(profile, source="tui", is_attended=True)
    await hub.open(session_id)
    print(json.dumps(to_builtins(hub.context(session_id))))
    await hub.close("done")

asyncio.run(run(*sys.argv[1:]))
"""


@pytest.fixture
async def worked(bench: Any, served: Any, workspace: Path) -> AsyncIterator[Any]:
    """A session after a turn with a call, and a prompt behind it that nothing answered."""
    (workspace / "a.txt").write_text("a line of the file\n" * 200)
    served.reply(LOOK, usage=(5_000, 20))
    served.reply(text="Done.", usage=(6_400, 10))
    await bench.ask("look")
    served.refuse("400 Bad Request", '{"error": {"message": "no"}}')
    await bench.ask("and now")
    yield bench


async def test_a_new_process_tells_the_same_figure(worked, home):
    command = [sys.executable, "-c", FIGURE, str(home), worked.session_id]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    told, _ = await asyncio.wait_for(process.communicate(), 20)
    assert figure(worked).source is FigureSource.PROVIDER_PLUS_ESTIMATE
    assert json.loads(told) == to_builtins(figure(worked))


async def test_a_turn_in_one_process_is_counted_in_the_other(worked, served, open_bench):
    other = await reopened(open_bench, worked)
    served.reply(text="Yes.", usage=(6_500, 5))
    await other.ask("go on")
    assert figure(other).used == 6_505
    await worked.hub.catch_up()
    assert figure(worked) == figure(other)
    served.reply(text="Yes.", usage=(6_600, 5))
    await worked.ask("go on")
    served.reply(text="Yes.", usage=(6_700, 5))
    await other.ask("go on")  # which has not been told of the turn before
    assert figure(other).used == 6_705


async def test_a_rewind_leaves_an_estimate_until_the_next_answer(worked, served, open_bench):
    prompt = [row for row in worked.rows if row.role is Role.USER][-1]
    before = figure(worked)
    worked.hub.profile.db.write(lambda tables: tables.lineage.rewind(worked.session_id, prompt.id, 2.0)).result()
    other = await reopened(open_bench, worked)
    assert session(other).anchors == ""
    assert figure(other).source is FigureSource.ESTIMATE
    await worked.hub.catch_up()
    assert figure(worked) == figure(other) != before
    served.reply(text="Yes.", usage=(6_450, 5))
    await other.ask("go on")
    assert (figure(other).used, figure(other).source) == (6_455, FigureSource.PROVIDER)


async def test_G04_after_a_summary_the_figure_is_an_estimate_at_once(windowed, served, open_bench):
    bench = await windowed("compression: {enabled: false}")
    for _ in range(2):
        served.reply(text="word " * 2_000, usage=(190_000, 2_000))
        await bench.ask("hello")
    assert figure(bench).percent == 96
    prompt = [row for row in bench.rows if row.role is Role.USER][-1]
    first, summary = bench.rows[0], Message("", Role.USER, "what was said", 2.0)
    bench.hub.profile.db.write(
        lambda tables: tables.lineage.swap(bench.session_id, first.id, prompt.id, summary, 0)
    ).result()
    await bench.hub.catch_up()
    shrunk = figure(bench)
    assert (shrunk.source, shrunk.percent in range(5)) == (FigureSource.ESTIMATE, True)
    assert figure(await reopened(open_bench, bench)) == shrunk
    assert not bench.hub.runtime(bench.session_id).s.pressure().is_anchored


async def test_a_changed_row_in_the_middle_is_noticed_though_the_last_one_is_the_same(worked, open_bench):
    middle = next(row for row in worked.rows if row.role is Role.TOOL)

    def edit(tables: Any) -> None:
        tables.connection.run("UPDATE messages SET content = 'less' WHERE id = ?", middle.id)

    worked.hub.profile.db.write(edit).result()
    assert figure(await reopened(open_bench, worked)).source is FigureSource.ESTIMATE


@pytest.mark.parametrize("column", ["{", '{"last": 1}', "null", "[]", '{"last": {"prompt": 5}}'])
async def test_anchors_that_can_not_be_read_are_none_and_the_next_answer_brings_new_ones(
    worked, served, open_bench, column: str
):
    worked.hub.profile.db.write(lambda tables: tables.sessions.set_anchors(worked.session_id, column)).result()
    other = await reopened(open_bench, worked)
    assert figure(other).source is FigureSource.ESTIMATE
    served.reply(text="Yes.", usage=(6_500, 5))
    await other.ask("go on")
    assert figure(await reopened(open_bench, worked)).used == 6_505


@pytest.mark.parametrize(
    ("at", "source"),
    [
        (-1, FigureSource.PROVIDER_PLUS_ESTIMATE),
        (2, FigureSource.PROVIDER),  # all that was asked with the last request
        (0, FigureSource.ESTIMATE),
    ],
)
async def test_a_branch_keeps_the_count_as_far_as_it_goes(worked, open_bench, at: int, source: FigureSource):
    said = [row for row in worked.rows if row.role is not Role.NOTICE]
    db = worked.hub.profile.db
    branch = db.write(lambda tables: tables.lineage.branch(worked.session_id, said[at].id, "branch", 2.0)).result()
    other = await open_bench()
    await other.hub.open(branch.id)
    assert other.hub.context(branch.id).source is source


async def test_an_answer_for_whose_row_nobody_waited_counts_all_the_same(worked, open_bench):
    """Its turn was interrupted while it was being stored."""
    s = worked.hub.runtime(worked.session_id).s
    await s.begin("go on")
    storing = asyncio.create_task(s.store_reply(Reply("Yes.", "", "", (), Finish.STOP, Usage(9_000, 5))))
    await asyncio.sleep(0)
    storing.cancel()
    await s.settle(Finish.INTERRUPTED, "it was stopped", ExitReason.INTERRUPTED)
    assert figure(worked).used == 9_005
    assert figure(await reopened(open_bench, worked)) == figure(worked)


async def test_a_fallback_is_counted_for_itself_and_the_chosen_model_is_estimated(worked, served):
    s = worked.hub.runtime(worked.session_id).s
    chosen: Route = s.route
    s.route = replace(chosen, model="other")
    served.reply(text="Yes.", usage=(9_000, 5))
    await worked.ask("go on")
    assert figure(worked).used == 9_005
    s.route = chosen
    assert figure(worked).source is FigureSource.ESTIMATE


async def test_what_is_learned_is_learned_from_the_answers_of_the_conversation_alone(bench, served):
    served.reply(text="It was a missing package.", usage=(5_000, 5))
    served.reply(text="Failing build", usage=(90_000, 5))
    learned: list[int] = []
    weights = bench.hub.runtime(bench.session_id).s.parts.weights
    learn = weights.learn
    weights.learn = lambda route, features, tokens: learned.append(tokens) or learn(route, features, tokens)
    await bench.ask(LONG)
    await bench.until(lambda event: type(event).__name__ == "SessionNamed")
    served.reply(text="Yes.", usage=(5_040, 5))
    await bench.ask("go on")
    assert learned == [5_000, 40]
