"""Which model answers while the chosen one can't, for how long, and that it is always told."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.context.meter import FigureSource
from agent.events import RowStored, TurnEnded, UsageRead
from agent.fallback import FAILED_S, LIMITED_S
from session.models import Approval, ExitReason, Finish, Level, Role, Usage
from session.usage import Spent

LIMITED = ("429 Too Many Requests", '{"error": {"message": "slow down"}}')
BROKE = ("402 Payment Required", '{"error": {"message": "no credit"}}')
OVERFLOW = ("400 Bad Request", '{"error": {"message": "prompt is too long: 2100 tokens > 2000 maximum"}}')
BLOCKED = ("400 Bad Request", '{"error": {"message": "blocked", "code": "content_filter"}}')


@pytest.fixture
async def second(served):
    """Another server, with a model of its own."""
    played = type(served)()
    server = await asyncio.start_server(played.handle, "127.0.0.1", 0)
    played.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield played
    server.close()


@pytest.fixture
def fallback():
    return "[second:n]"


@pytest.fixture
def clock():
    """Seconds, as the test lets them pass."""
    return [1000.0]


@pytest.fixture
async def chained(served, second, home, open_bench, fallback, clock):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        "model: {default: m, provider: served}\nprobe_local: false\nagent: {api_max_retries: 0, stream_retries: 0}\n"
        f"providers: {{served: {{base_url: '{served.url}'}}, second: {{base_url: '{second.url}'}},"
        f" keyed: {{base_url: '{second.url}', key_env: NO_SUCH_KEY}}}}\nfallback: {fallback}\n"
    )
    bench = await open_bench()
    bench.hub.runtime(bench.session_id).s.parts.fallback._clock = lambda: clock[0]
    return bench


def answers(rows) -> list[tuple[str, Finish | None]]:
    return [(row.content, row.finish) for row in rows if row.role is Role.ASSISTANT]


def notices(rows) -> list[str]:
    return [row.content for row in rows if row.role is Role.NOTICE]


def model(bench) -> str:
    return bench.hub.runtime(bench.session_id).s.route.model


async def test_another_model_answers_and_is_told_until_the_limit_has_passed(chained, served, second, clock):
    served.refuse(*LIMITED)
    second.reply(text="I am here.", usage=(7, 3))
    turn = await chained.ask("hello")
    assert (turn.ended.reason, answers(turn.rows)) == (ExitReason.COMPLETED, [("I am here.", Finish.STOP)])
    assert "slow down" in notices(turn.rows)[-1]
    assert "n at second answers instead." in notices(turn.rows)[-1]
    assert model(chained) == "n"
    spent = chained.hub.profile.db.read(lambda tables: tables.usage.totals(chained.session_id)).result()
    assert spent == [Spent("second", "n", "", 1, Usage(7, 3))]
    clock[0] += LIMITED_S - 1
    second.reply(text="Still me.")
    await chained.ask("and now")
    assert (len(served.requests), len(second.requests)) == (1, 2)
    clock[0] += 2
    served.reply(text="Back again.")
    turn = await chained.ask("and now")
    assert notices(turn.rows) == ["m at served answers now, in the place of n at second."]
    assert (answers(turn.rows), model(chained)) == ([("Back again.", Finish.STOP)], "m")


async def test_the_messages_are_made_for_the_model_that_gets_them(chained, served, second):
    served.refuse(*LIMITED)
    second.reply(text="I am here.")
    await chained.ask("hello")
    assert (served.requests[0]["model"], second.requests[0]["model"]) == ("m", "n")
    assert served.requests[0]["messages"] == second.requests[0]["messages"]


async def test_the_chosen_model_stays_the_chosen_one_in_the_store(chained, served, second, open_bench):
    served.refuse(*BROKE)
    second.reply(text="I am here.")
    await chained.ask("hello")
    again = await open_bench()
    runtime = await again.hub.open(chained.session_id)
    assert runtime.s.route.model == "m"


async def test_a_limit_of_one_session_holds_for_the_next(chained, served, second):
    served.refuse(*BROKE)
    for _ in range(2):
        second.reply(text="I am here.")
    await chained.ask("hello")
    chained.session_id = chained.hub.create(chained.workspace).id
    turn = await chained.ask("hello")
    assert len(served.requests) == 1
    assert "n at second answers now, in the place of m at served." in notices(turn.rows)


async def test_when_all_have_failed_the_last_failure_stands_and_the_next_turn_asks_the_chosen_one(
    chained, served, second, clock
):
    served.refuse("500 Oops", "{}")
    second.refuse("503 Busy", "{}")
    turn = await chained.ask("hello")
    assert (turn.ended.reason, turn.ended.error_kind) == (ExitReason.ERROR, "overloaded")
    served.refuse("500 Oops", "{}")
    turn = await chained.ask("again")  # at once: the chain still rests
    assert (len(served.requests), len(second.requests)) == (2, 1)
    clock[0] += FAILED_S + 1
    served.reply(text="Up again.")
    assert answers((await chained.ask("again")).rows) == [("Up again.", Finish.STOP)]


@pytest.mark.parametrize("answer", [OVERFLOW, BLOCKED])
async def test_what_no_other_model_should_answer_is_not_handed_on(chained, served, second, answer):
    served.refuse(*answer)
    assert (await chained.ask("hello")).ended.reason is ExitReason.ERROR
    assert second.requests == []


async def test_A41_a_refusal_is_an_answer_and_not_handed_on(chained, served, second):
    served.script.append(
        ['data: {"choices":[{"index":0,"delta":{"refusal":"No."},"finish_reason":"stop"}]}\n\n', "data: [DONE]\n\n"]
    )
    assert (await chained.ask("hello")).ended.reason is ExitReason.REFUSED
    assert second.requests == []


async def test_A34_a_part_of_an_answer_is_kept_and_not_answered_over(chained, served, second):
    served.cut("part")
    turn = await chained.ask("hello")
    assert (turn.ended.reason, answers(turn.rows)) == (ExitReason.CUT, [("part", Finish.CUT)])
    assert second.requests == []


async def test_tools_that_ran_are_not_run_again_by_the_other_model(chained, served, second, workspace):
    command = json.dumps({"command": "echo x >> made"})
    served.reply({"id": "x", "type": "function", "function": {"name": "terminal", "arguments": command}})
    served.refuse(*LIMITED)
    second.reply(text="Done.")
    turn = await chained.ask("make it", Approval.ALLOWED_ONCE)
    assert answers(turn.rows)[-1] == ("Done.", Finish.STOP)
    assert (workspace / "made").read_text() == "x\n"
    assert second.requests[0]["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize("fallback", ["[served:m, keyed:k, second:n]"])
async def test_what_is_the_same_or_has_no_key_is_passed_over(chained, served, second):
    served.refuse(*LIMITED)
    second.reply(text="I am here.")
    await chained.ask("hello")
    assert (len(served.requests), second.requests[0]["model"]) == (1, "n")


@pytest.mark.parametrize("fallback", ["[keyed:k]"])
async def test_a_fallback_without_a_key_is_told_where_it_would_have_helped(chained, served):
    served.refuse(*LIMITED)
    error = (await chained.ask("hello")).ended.error
    assert "The fallback keyed:k was passed over: The provider keyed needs a key." in error


async def test_a_model_chosen_by_the_person_ends_the_standing_in(chained, served, second, clock):
    served.refuse(*LIMITED)
    second.reply(text="I am here.")
    await chained.ask("hello")
    runtime = chained.hub.runtime(chained.session_id)
    await runtime.switch(chained.hub.models.resolve("second:other", runtime.s.route))
    clock[0] += LIMITED_S + 1
    second.reply(text="Chosen.")
    turn = await chained.ask("and now")
    assert (notices(turn.rows), model(chained), second.requests[-1]["model"]) == ([], "other", "other")


# --- what failed attempts took


@pytest.mark.parametrize("more_config", ["agent: {stream_retries: 1}"])
async def test_each_attempt_that_was_counted_is_in_the_ledger_and_in_the_turn_but_no_figure_rests_on_it(bench, served):
    usage = {"prompt_tokens": 500, "completion_tokens": 2}
    for text in ("part", "more"):
        part = {"choices": [{"index": 0, "delta": {"content": text}}], "usage": usage}
        served.script.append([f"data: {json.dumps(part)}\n\n"])
    turn = await bench.ask("hello")
    assert turn.ended.reason is ExitReason.CUT
    read = [event for event in turn.events if isinstance(event, UsageRead)]
    assert [event.turn for event in read] == [Usage(500, 2), Usage(1000, 4)]
    assert all(event.context.source is FigureSource.ESTIMATE for event in read)
    spent = bench.hub.profile.db.read(lambda tables: tables.usage.totals(bench.session_id)).result()
    assert spent == [Spent("served", "m", "", 2, Usage(1000, 4))]
    assert bench.hub.context(bench.session_id).source is FigureSource.ESTIMATE


# --- what a failing turn says


@pytest.mark.parametrize("more_config", ["agent: {api_max_retries: 2}"])
async def test_the_noise_of_retries_is_stored_only_where_the_turn_fails(bench, served):
    answers_nothing: list[str | asyncio.Event] = [
        "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nConnection: close\r\n\r\n",
        "{}",
    ]
    served.script += [answers_nothing, answers_nothing]
    served.reply(text="At last.")
    turn = await bench.ask("hello")
    assert [row.role for row in turn.rows if row.role is not Role.NOTICE] == [Role.USER, Role.ASSISTANT]
    assert [row for row in turn.rows if row.level is not Level.INFO] == []
    served.script += [answers_nothing] * 3
    turn = await bench.ask("again")
    assert len(served.requests) == 6
    assert [event.row.level for event in turn.events if isinstance(event, RowStored)][-1] is Level.ERROR
    assert isinstance(turn.ended, TurnEnded)
