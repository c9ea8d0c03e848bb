"""A turn on a route that speaks the Responses API: the whole runtime, with nothing faked but the model."""

from __future__ import annotations

import json

import pytest

from session.models import ExitReason


@pytest.fixture
async def spoken(served, home, open_bench):
    """A hub whose model speaks the Responses API."""
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        "model: {default: m, provider: spoken}\nprobe_local: false\n"
        f"providers: {{spoken: {{base_url: '{served.url}', api_mode: responses}}}}\n"
    )
    return await open_bench()


def event(kind: str, **fields: object) -> str:
    return f"event: response.{kind}\ndata: {json.dumps({'type': f'response.{kind}'} | fields)}\n\n"


def items(*done: dict[str, object]) -> list[str]:
    """An answer of these items."""
    events = [event("output_item.done", output_index=index, item=item) for index, item in enumerate(done)]
    return [
        *events,
        event("completed", response={"status": "completed", "usage": {"input_tokens": 9, "output_tokens": 4}}),
    ]


def said(words: str) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


async def test_a_turn_runs_the_call_and_gives_its_output_back(spoken, served, workspace):
    (workspace / "a.txt").write_text("the content")
    read = {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a.txt"}'}
    served.script += [items(said("I look."), read), items(said("It is there."))]
    turn = await spoken.ask("What is in a.txt?")
    assert turn.ended.reason is ExitReason.COMPLETED
    assert [row.content for row in spoken.rows if row.calls or row.usage] == ["I look.", "It is there."]
    first, second = served.requests
    assert [tool["name"] for tool in first["tools"]]
    assert [item["type"] for item in second["input"]] == ["message", "message", "function_call", "function_call_output"]
    assert "the content" in second["input"][-1]["output"]


async def test_a_refusal_alone_ends_the_turn_as_refused(spoken, served):
    refused = {"type": "message", "content": [{"type": "refusal", "refusal": "I can't help with that."}]}
    served.script.append(items(refused))
    turn = await spoken.ask("Do harm.")
    assert (turn.ended.reason, spoken.rows[-1].refusal) == (ExitReason.REFUSED, "I can't help with that.")
    assert len(served.requests) == 1


async def test_B12_thinking_alone_is_told_as_no_answer(spoken, served):
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    served.script.append(items(thought))
    turn = await spoken.ask("Well?")
    assert turn.ended.reason is ExitReason.ERROR
    assert "without an answer" in turn.ended.error


async def test_B04_sealed_thoughts_go_through_the_store_and_back_in_their_place(spoken, served, workspace):
    (workspace / "a.txt").write_text("the content")
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="}
    read = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "read_file",
        "arguments": '{"path":"a.txt"}',
    }
    served.script += [items(thought, said("I look."), read), items(said("It is there.")), items(said("Yes."))]
    await spoken.ask("What is in a.txt?")
    await spoken.ask("Sure?")
    for request in served.requests[1:]:
        assert request["input"][1:4] == [thought, said("I look."), read]
