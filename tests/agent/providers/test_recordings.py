"""Answers that real servers gave, replayed over HTTP, whole and in small pieces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("HERMES_STREAMS", "")


def recordings() -> list:
    if not FOLDER:
        return [pytest.param(None, marks=pytest.mark.skip("HERMES_STREAMS names no folder of recorded streams"))]
    listed = json.loads((Path(FOLDER) / "manifest.json").read_text())
    return [pytest.param(entry, id=entry["file"]) for entry in listed]


@pytest.fixture
def replay(wire, ask, ask_responses):
    async def once(entry: dict, size_bytes: int, line_end: bytes):
        stream = (Path(FOLDER) / entry["file"]).read_bytes()
        stream = stream.replace(b"\r\n", b"\n").replace(b"\n", line_end) if line_end else stream
        wire.stream([stream[at : at + size_bytes] for at in range(0, len(stream), size_bytes)])
        tools = [call["name"] for call in entry["expect"]["tool_calls"]]
        return await (ask_responses if entry["api"] == "responses" else ask)(*tools)

    return once


def read(told) -> dict:
    """What came out, in the manifest's terms."""
    said = told.reply or told.error.partial
    usage = told.reply.usage if told.reply else told.error.usage
    calls = told.reply.calls if told.reply else ()
    return {
        "text": said.content,
        "reasoning_chars": len(said.reasoning),
        "refusal": said.refusal or None,
        "tool_calls": [{"name": call.name, "arguments": json.loads(call.arguments)} for call in calls],
        "usage": usage and {"input": usage.prompt, "output": usage.output, "cached": usage.cache_read, "reasoning": usage.reasoning},
    }  # fmt: skip


def wanted(expect: dict) -> dict:
    usage = expect["usage"]
    return {
        "text": expect["text"],
        "reasoning_chars": expect["reasoning_chars"],
        "refusal": expect["refusal"],
        "tool_calls": [{"name": call["name"], "arguments": call["arguments"]} for call in expect["tool_calls"]],
        "usage": usage and {key: usage[key] or 0 for key in ("input", "output", "cached", "reasoning")},
    }


def finish(expect: dict) -> str | None:
    """How the answer ended, None where the server did not say; the Responses API knows no call as an end."""
    return {"completed": None, "failed": None}.get(expect["finish"], expect["finish"])


@pytest.mark.parametrize(
    ("size_bytes", "line_end"),
    [
        pytest.param(1_000_000, b"", id="whole"),
        pytest.param(1_000_000, b"\r\n", id="crlf"),
        pytest.param(1, b"", id="byte-by-byte"),
    ],
)
@pytest.mark.parametrize("entry", recordings())
async def test_a_recorded_answer_reads_as_it_should(replay, entry, size_bytes, line_end):
    expect = entry["expect"]
    told = await replay(entry, size_bytes, line_end)
    assert read(told) == wanted(expect)
    if expect["error"] and finish(expect):
        assert any(expect["error"] in warning for warning in told.reply.warnings)
    if expect["error"] and not finish(expect):
        assert expect["error"][:60] in told.error.sentence
    elif expect["refusal"]:
        assert told.reply.finish == "content_filter"
    else:
        assert told.reply.finish == (finish(expect) or ("tool_calls" if expect["tool_calls"] else "stop"))
