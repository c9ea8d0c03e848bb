"""One session that goes to and fro between Chat Completions and the Responses API, also through an interrupt."""

from __future__ import annotations

import json

import pytest

from agent.events import TextDelta, TurnEnded


@pytest.fixture
async def both(served, home, open_bench):
    """A hub with one server under two names: `chat` and `items` are how it is spoken to."""
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(
        "model: {default: m, provider: items}\nprobe_local: false\nproviders:\n"
        f"  items: {{base_url: '{served.url}', api_mode: responses}}\n"
        f"  chat: {{base_url: '{served.url}'}}\n"
    )
    return await open_bench()


def event(kind: str, **fields: object) -> str:
    return f"data: {json.dumps({'type': f'response.{kind}'} | fields)}\n\n"


def answer(*items: dict[str, object]) -> list[str]:
    done = [event("output_item.done", output_index=at, item=item) for at, item in enumerate(items)]
    return [*done, event("completed", response={"status": "completed"})]


def said(words: str) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


async def switch(bench, name: str) -> None:
    runtime = bench.hub.runtime(bench.session_id)
    await runtime.switch(bench.hub.models.resolve(name, runtime.s.route))


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="}
READ = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read_file", "arguments": '{"path":"a.txt"}'}


async def interrupted(bench, served, *parts: str) -> None:
    gate = served.hold(*parts)
    bench.hub.submit(bench.session_id, "Go on")
    await bench.until(lambda event: isinstance(event, TextDelta))
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    gate.set()


def assert_items_pair(items: list[dict[str, object]]) -> None:
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    assert calls == outputs
    assert len(set(calls)) == len(calls)
    for item, following in zip(items, [*items[1:], None], strict=True):
        assert item["type"] != "reasoning" or (following and following["type"] in ("message", "function_call"))


async def test_a_history_stays_legal_through_switches_and_interrupts(both, served, workspace):
    (workspace / "a.txt").write_text("the content")
    served.script += [answer(THOUGHT, said("I look."), READ), answer(said("It is there."))]
    await both.ask("What is in a.txt?")
    await interrupted(both, served, event("output_item.done", output_index=0, item=THOUGHT), *answer(said("Half"))[:1])

    await switch(both, "chat:m")
    served.reply({"id": "c1", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}})
    served.reply(text="Still there.")
    turn = await both.ask("Again?")
    assert not turn.ended.error
    for request in served.requests[-2:]:
        assert "_extras" not in json.dumps(request)
        assert "gA==" not in json.dumps(request)
    roles = [message["role"] for message in served.requests[-1]["messages"]]
    assert roles.count("tool") == 2

    await interrupted(both, served, 'data: {"choices":[{"index":0,"delta":{"content":"Quarter"}}]}\n\n')
    await switch(both, "items:m")
    served.script.append(answer(said("Done.")))
    turn = await both.ask("And now?")
    assert not turn.ended.error
    items = served.requests[-1]["input"]
    assert_items_pair(items)
    assert [item for item in items if item["type"] == "reasoning"] == [THOUGHT]
    assert "Half" in json.dumps(items)
    assert "Quarter" in json.dumps(items)
