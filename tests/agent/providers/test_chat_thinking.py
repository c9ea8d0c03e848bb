"""Thinking inside an answer, and what of an answer a server wants back with the next request."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.providers.base import ErrorKind, ReasoningPart, TextPart
from agent.providers.compatibility import Compatibility
from agent.providers.think_tags import ThinkTags
from agent.request import wire_messages
from session.models import Approval, CallOutcome, CallResult, Message, Role

DONE = b"data: [DONE]\n\n"
ECHO = Compatibility(echo_reasoning=True)


def contents(wire, *pieces: str) -> list[bytes]:
    return [*(wire.chunk({"content": piece}) for piece in pieces), wire.chunk({}, "stop"), DONE]


def rows_of(reply) -> list[Message]:
    """The conversation up to a reply, as it is stored, with a result for each of its calls."""
    asked = Message("s", Role.USER, "hi", 0.0)
    said = Message("s", Role.ASSISTANT, reply.content, 0.0, reasoning=reply.reasoning, calls=reply.calls)
    results = [
        Message("s", Role.TOOL, "done", 0.0, result=CallResult(call.id, call.name, CallOutcome.OK, Approval.NOT_ASKED))
        for call in reply.calls
    ]
    return [asked, replace(said, extras=reply.extras), *results]


@pytest.fixture
def ask_again(ask, question):
    """Asks with the conversation that a reply was part of, on the route of `provider`."""

    async def again(reply, switches: Compatibility, provider: str = "test"):
        asked = question("read")
        route = replace(asked.route, provider=provider)
        messages = wire_messages(rows_of(reply), "be brief", route, switches)
        return await ask(request=replace(asked, messages=messages, route=route, compatibility=switches))

    return again


def answer_sent(wire) -> dict:
    return next(message for message in wire.requests[-1].json["messages"] if message["role"] == "assistant")


# --- thinking that comes as tags in the content


async def test_A27_a_think_tag_split_over_chunks_is_reasoning(wire, ask):
    wire.stream(*contents(wire, "<thi", "nk>secret</thi", "nk>ANSWER a < b"))
    told = await ask()
    assert told.parts == [ReasoningPart("secret"), TextPart("ANSWER a < b")]
    assert (told.reply.reasoning, told.reply.content) == ("secret", "ANSWER a < b")


async def test_A27_what_only_begins_like_a_tag_is_text(wire, ask):
    wire.stream(*contents(wire, "<thi", "s is no tag"))
    assert (await ask()).reply.content == "<this is no tag"


async def test_A27_an_answer_that_ends_like_a_tag_is_whole(wire, ask):
    wire.stream(*contents(wire, "<th"))
    assert (await ask()).reply.content == "<th"


async def test_A27_tags_stay_literal_where_the_switch_says_so(wire, ask, question):
    wire.stream(*contents(wire, "<think>x</think>y"))
    request = replace(question(), compatibility=Compatibility(think_tags=False))
    assert (await ask(request=request)).reply.content == "<think>x</think>y"


async def test_A28_a_closing_tag_that_reasoning_left_over_is_dropped(wire, ask):
    wire.stream(wire.chunk({"reasoning_content": "t"}), *contents(wire, "</th", "ink>\n", "\nAnswer"))
    reply = (await ask()).reply
    assert (reply.reasoning, reply.content) == ("t", "Answer")


async def test_A28_a_closing_tag_without_any_reasoning_is_text(wire, ask):
    wire.stream(*contents(wire, "</think> closes a thought"))
    assert (await ask()).reply.content == "</think> closes a thought"


@pytest.mark.parametrize(
    "text", ["Use <think> to think, </think> to stop.", "```\n<think>\nx\n</think>\n```", "a</think>\n\nb"]
)
async def test_A28_a_tag_in_the_middle_or_in_a_code_block_stays_literal(wire, ask, text):
    wire.stream(*contents(wire, *text))
    assert (await ask()).reply.content == text


async def test_thinking_that_never_ends_is_no_answer(wire, ask):
    wire.stream(*contents(wire, "<think>on and on <"))
    reply = (await ask()).reply
    assert (reply.reasoning, reply.content) == ("on and on <", "")


@given(
    lead=st.sampled_from(["", "\n", "  \n"]),
    thought=st.text(alphabet="ab<>/think \n", max_size=30).filter(lambda text: "</think>" not in text),
    answer=st.text(alphabet="ab<>/think \n", max_size=30),
    is_tagged=st.booleans(),
    sizes=st.lists(st.integers(1, 9), min_size=1),
)
def test_any_cut_of_tagged_content_gives_the_same(lead, thought, answer, is_tagged, sizes):
    content = f"{lead}<think>{thought}</think>{answer}" if is_tagged else f"x{lead}{answer}"
    tags, pieces = ThinkTags(), []
    at = 0
    while at < len(content):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(tags.split(content[at : at + size], False))
        at += size
    pieces.append(tags.end())
    said = tuple(map("".join, zip(*pieces, strict=True)))
    assert said == ((thought.strip(), answer.lstrip()) if is_tagged else ("", content))


# --- what a server gets back


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_A25_reasoning_is_sent_back_under_its_own_name_where_the_switch_says_so(
    wire, ask, ask_again, fragment, field
):
    wire.stream(
        wire.chunk({field: "thi"}),
        wire.chunk({field: "nk"}),
        fragment(0, "a", "read", '{"path":"x"}'),
        wire.chunk({}, "tool_calls"),
        DONE,
    )
    first = (await ask("read")).reply
    await ask_again(first, ECHO)
    assert answer_sent(wire)[field] == "think"
    await ask_again(first, Compatibility())
    assert field not in answer_sent(wire)


async def test_A25_a_server_that_demands_its_reasoning_answers_the_second_request(wire, ask, ask_again, fragment):
    wire.stream(
        wire.chunk({"reasoning_content": "think"}), fragment(0, "a", "read", "{}"), wire.chunk({}, "tool_calls"), DONE
    )
    first = (await ask("read")).reply
    wire.scripts = []
    message = "The reasoning_content in the thinking mode must be passed back to the API."
    wire.answer("400 Bad Request", json.dumps({"error": {"message": message}}))
    refused = await ask_again(first, Compatibility())
    assert refused.error.kind is ErrorKind.FORMAT_ERROR
    assert "reasoning_content" in refused.error.sentence
    wire.scripts = []
    wire.stream(*contents(wire, "ok"))
    assert (await ask_again(first, ECHO)).reply.content == "ok"
    assert answer_sent(wire)["reasoning_content"] == "think"


async def test_A25_G11_signed_details_go_back_as_they_came_and_only_to_their_server(wire, ask, ask_again, fragment):
    deltas = [
        {"type": "reasoning.text", "text": "I ", "index": 0, "format": "f"},
        {"type": "reasoning.text", "text": "see", "index": 0, "format": "f"},
        {"type": "reasoning.text", "signature": "SIG", "index": 0, "format": "f"},
        {"type": "reasoning.encrypted", "data": "AAA", "id": "a", "index": 1},
        {"type": "reasoning.encrypted", "data": "BBB", "id": "b", "index": 1},
    ]
    wire.stream(
        *(wire.chunk({"reasoning": one.get("text"), "reasoning_details": [one]}) for one in deltas),
        fragment(0, "a", "read", "{}"),
        wire.chunk({}, "tool_calls"),
        DONE,
    )
    first = (await ask("read")).reply
    assert first.reasoning == "I see"
    await ask_again(first, ECHO)
    text = {"type": "reasoning.text", "text": "I see", "signature": "SIG", "index": 0, "format": "f"}
    assert answer_sent(wire)["reasoning_details"] == [text, *deltas[3:]]
    await ask_again(first, ECHO, provider="other")
    assert "reasoning_details" not in answer_sent(wire)
    assert "I see" not in str(answer_sent(wire))
    assert answer_sent(wire)["reasoning_content"]  # something must stand there


async def test_A25_tagged_thinking_goes_back_in_its_tags(wire, ask, ask_again):
    wire.stream(*contents(wire, "<think>\nhm\n</think>\n\nYes."))
    await ask_again((await ask()).reply, ECHO)
    assert answer_sent(wire)["content"] == "<think>\nhm\n</think>\n\nYes."


async def test_the_extra_content_of_a_call_goes_back_with_it_and_only_to_its_server(wire, ask, ask_again):
    signed = {"google": {"thought_signature": "c2ln", "odd": [1, None]}}
    calls = [
        {"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        {"index": 1, "id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}, "extra_content": signed},
    ]  # fmt: skip
    wire.stream(wire.chunk({"tool_calls": calls}, "tool_calls"), DONE)
    first = (await ask("read")).reply
    await ask_again(first, Compatibility())
    sent = answer_sent(wire)["tool_calls"]
    assert ("extra_content" in sent[0], sent[1]["extra_content"]) == (False, signed)
    await ask_again(first, Compatibility(), provider="other")
    assert all("extra_content" not in call for call in answer_sent(wire)["tool_calls"])


async def test_extras_with_half_a_surrogate_pair_can_be_stored(wire, ask, fragment):
    piece = b'data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a\\ud83d"}]}}]}\n\n'
    wire.stream(piece, *contents(wire, "ok"))
    reply = (await ask()).reply
    assert reply.content == "ok"
    reply.extras.encode()
