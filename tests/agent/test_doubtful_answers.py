"""Answers that are whole and yet not quite right: what the turn makes of them, and what the person is told."""

from __future__ import annotations

import json

import pytest

from session.models import CallOutcome, ExitReason, Level, Role

LONG = "The quick brown fox jumps over the lazy dog and runs away again. " * 600


def warnings(rows) -> list[str]:
    return [row.content for row in rows if row.role is Role.NOTICE and row.level is Level.WARNING]


async def test_A19_malformed_arguments_are_called_invalid_and_the_model_may_send_them_again(bench, served):
    (bench.workspace / "a.txt").write_text("words")

    def reading(arguments: str) -> dict:
        return {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": arguments}}

    served.reply(reading('{"path": foo"}'), usage=(100, 20))
    served.reply(reading(json.dumps({"path": "a.txt"})))
    served.reply(text="Done.")
    turn = await bench.ask("read it")
    (first, told), (second, _) = turn.results
    assert (first.outcome, second.outcome) == (CallOutcome.NOT_RUN, CallOutcome.OK)
    assert "invalid JSON" in told
    assert "cut off" not in told
    assert turn.ended.reason is ExitReason.COMPLETED
    sent = [message for message in served.requests[1]["messages"] if message["role"] == "assistant"]
    assert json.loads(sent[0]["tool_calls"][0]["function"]["arguments"]) == {}


@pytest.mark.parametrize("more_config", ["auxiliary: {titles: false}"])
async def test_A39_the_warning_stands_in_the_conversation_once(bench, served):
    for answer in ("One.", "Two."):
        served.reply(text=answer, usage=(4096, 5))
    first = await bench.ask(LONG)
    second = await bench.ask("and now")
    (warning,) = warnings(first.rows)
    assert "num_ctx" in warning
    assert warnings(second.rows) == []
    assert second.ended.reason is ExitReason.COMPLETED


async def test_B10_a_call_written_as_text_is_shown_with_a_hint_and_never_runs(bench, served):
    written = "<tool_call><function=terminal><parameter=command>touch made</parameter></function></tool_call>"
    served.reply(text=written)
    turn = await bench.ask("make it")
    assert [row.content for row in turn.rows if row.role is Role.ASSISTANT] == [written]
    assert "no tool parser" in warnings(turn.rows)[0]
    assert turn.results == []
    assert list(bench.workspace.iterdir()) == []


async def test_A25_reasoning_goes_back_with_the_call_it_led_to(home, served, open_bench, bench):
    config = home / "config.yaml"
    config.write_text(config.read_text().replace("base_url", "compatibility: {echo_reasoning: true}, base_url"))
    thinker = await open_bench()
    call = {"index": 0, "id": "a", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}}
    deltas = {"reasoning": "think"}, {"tool_calls": [call]}
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    served.script.append([*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"])
    served.reply(text="Done.")
    await thinker.ask("read it")
    sent = next(message for message in served.requests[1]["messages"] if message["role"] == "assistant")
    assert sent["reasoning"] == "think"
