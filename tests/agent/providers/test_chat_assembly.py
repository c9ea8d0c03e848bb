"""An answer is the same whether it came whole or in a stream, however that is split, mixed and cut."""

from __future__ import annotations

import json
import os
import tracemalloc
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.providers.base import Reply
from agent.providers.body import ChatBody
from agent.providers.stream_body import StreamBody

TOOLS = ("read", "terminal", "re")
ROUNDS = int(os.environ.get("HERMES_SOAK", "0")) or 40

arguments = st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers(), max_size=3)
calls = st.lists(st.tuples(st.sampled_from(TOOLS), arguments.map(json.dumps)), max_size=3)
tagged = st.builds(lambda thought, said: f"<think>{thought}</think>\n{said}", st.text(max_size=9), st.text(max_size=9))


@st.composite
def messages(draw) -> dict:
    """A legal answer, as a server that does not stream sends it."""
    thought = draw(st.text(max_size=9))
    message: dict = {"role": "assistant", "content": draw(st.text(max_size=20) if thought else st.text() | tagged)}
    if thought:
        message[draw(st.sampled_from(["reasoning", "reasoning_content"]))] = thought
    if refusal := draw(st.text(max_size=6)):
        message["refusal"] = refusal
    if wanted := draw(calls):
        message["tool_calls"] = [
            {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": text}}
            for place, (name, text) in enumerate(wanted)
        ]
    return message


def split(text: str, chance: Random) -> list[str]:
    ends = sorted(chance.randint(0, len(text)) for _ in range(chance.randint(0, 4)))
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def spoken(message: dict, chance: Random) -> list[dict]:
    """Thinking comes before words, as models speak."""
    names = ("reasoning", "reasoning_content", "content", "refusal")
    return [{name: piece} for name in names if name in message for piece in split(message[name], chance)]


def call_deltas(index: int, call: dict, chance: Random) -> list[dict]:
    """The id and name first, then pieces of the arguments by their index alone."""
    pieces = split(call["function"]["arguments"], chance)
    first = {"index": index, **call, "function": {**call["function"], "arguments": ""}}
    more = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [{"tool_calls": [one]} for one in (first, *more)]


def mixed(queues: list[list[dict]], chance: Random) -> list[dict]:
    """One after another from any queue; a later queue begins after the ones before it."""
    taken: list[dict] = []
    started = 1
    while any(queues):
        ready = [queue for queue in queues[: started + 1] if queue]
        queue = chance.choice(ready or [queue for queue in queues if queue])
        taken.append(queue.pop(0))
        started = max(started, 1 + next(place for place, one in enumerate(queues) if one is queue))
    return taken


def stream_of(message: dict, finish: str, chance: Random) -> bytes:
    """The same answer as a legal stream, with what servers put between."""
    calls = [call_deltas(index, call, chance) for index, call in enumerate(message.get("tool_calls", ()))]
    deltas = mixed([spoken(message, chance), *calls], chance)
    events = [f"data: {json.dumps(chunk(delta), ensure_ascii=chance.random() < 0.5)}" for delta in deltas]
    for _ in range(chance.randint(0, 3)):
        odd = chance.choice(
            [": ping", f"data: {json.dumps(chunk({}))}", f"data: {json.dumps(chunk(None))}", "data: ping"]
        )
        events.insert(chance.randint(0, len(events)), odd)
    events += [f"data: {json.dumps(chunk({}, finish))}", f"data: {json.dumps(chunk({}, usage=USAGE))}", "data: [DONE]"]
    line_end = chance.choice(["\n", "\r\n", "\r"])
    return "".join(f"{event}{line_end}{line_end}" for event in events).encode("utf-8", "surrogatepass")


USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


def chunk(delta: dict | None, finish: str | None = None, **more: object) -> dict:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def assembled(*pieces: bytes) -> tuple[Reply, str]:
    """The reply, and the text that was shown while it came."""
    said = ChatBody(TOOLS)
    body = StreamBody(said)
    parts = [part for piece in pieces for part in body.feed(piece)] + body.end() + said.answer.end()
    assert (said.fault, body.is_broken, said.has_finish) == (None, False, True)
    return said.answer.reply((), "p"), "".join(part.text for part in parts if type(part).__name__ == "TextPart")


def whole(message: dict, finish: str) -> Reply:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return assembled(json.dumps({"id": "x", "model": "m", "choices": [choice], "usage": USAGE}).encode())[0]


@settings(max_examples=ROUNDS)
@given(messages(), st.sampled_from(["stop", "tool_calls", "length", "content_filter"]), st.randoms())
def test_a_stream_split_mixed_and_cut_at_every_byte_gives_the_reply_that_came_whole(message, finish, chance):
    expected = whole(message, finish)
    stream = stream_of(message, finish, chance)
    assert assembled(stream) == (expected, expected.content)
    assert assembled(*(stream[at : at + 1] for at in range(len(stream)))) == (expected, expected.content)


@settings(max_examples=max(1, ROUNDS // 20))
@given(messages(), st.randoms())
def test_a_stream_cut_in_two_at_any_byte_gives_the_reply_that_came_whole(message, chance):
    expected = whole(message, "stop")
    stream = stream_of(message, "stop", chance)
    for at in range(len(stream)):
        assert assembled(stream[:at], stream[at:]) == (expected, expected.content)


def test_a_long_answer_is_held_as_its_text_alone():
    """Not as an object for each piece of its chunks: those alone would take 1.6 MB."""
    delta = {"content": " word", "reasoning_details": [{"type": "reasoning.text", "text": " hm", "index": 0}]}
    event = f"data: {json.dumps(chunk(delta))}\n\n".encode()
    body = StreamBody(ChatBody(TOOLS))
    body.feed(event)
    tracemalloc.start()
    try:
        for _ in range(10_000):
            body.feed(event)
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 500_000
