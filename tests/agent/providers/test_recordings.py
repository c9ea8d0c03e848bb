"""Answers that real servers gave, replayed over HTTP, whole and in small pieces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("HERMES_STREAMS", "")
LATER = {
    "groq-think-tags.sse": "Providers: <think> tags inside the content are not yet told from the answer",
    "openrouter-error-in-stream.sse": "Providers: an error behind a finish is not yet shown beside the answer",
}


def recordings() -> list:
    if not FOLDER:
        return [pytest.param(None, marks=pytest.mark.skip("HERMES_STREAMS names no folder of recorded streams"))]
    listed = json.loads((Path(FOLDER) / "manifest.json").read_text())
    return [
        pytest.param(entry, id=entry["file"], marks=_marks(entry["file"]))
        for entry in listed
        if not entry["file"].startswith("r-")
    ]


def _marks(file: str) -> list:
    return [pytest.mark.xfail(strict=True, reason=LATER[file])] if file in LATER else []


@pytest.fixture
def replay(wire, ask):
    async def once(entry: dict, size_bytes: int):
        stream = (Path(FOLDER) / entry["file"]).read_bytes()
        wire.stream(*[stream[at : at + size_bytes] for at in range(0, len(stream), size_bytes)])
        tools = [call["name"] for call in entry["expect"]["tool_calls"]]
        return await ask(*tools)

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
        "tool_calls": expect["tool_calls"],
        "usage": usage and {key: usage[key] or 0 for key in ("input", "output", "cached", "reasoning")},
    }


@pytest.mark.parametrize("size_bytes", [1_000_000, 7])
@pytest.mark.parametrize("entry", recordings())
async def test_a_recorded_answer_reads_as_it_should(replay, entry, size_bytes):
    expect = entry["expect"]
    told = await replay(entry, size_bytes)
    assert read(told) == wanted(expect)
    if expect["error"]:
        assert told.error is not None
        assert expect["error"][:60] in told.error.sentence
    elif expect["refusal"]:
        assert told.reply.finish == "content_filter"
    else:
        assert told.reply.finish == (expect["finish"] or ("tool_calls" if expect["tool_calls"] else "stop"))
