"""An answer that only called tools goes back in the form that its server takes (A30)."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from agent.providers.chat import ChatProvider
from agent.providers.compatibility import Compatibility, EmptyContent

DONE = b"data: [DONE]\n\n"
CALL = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
TALK = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "done"},
]
NO_EMPTY_TEXT = "chat content is empty"
NO_NULL = "invalid message content type: <nil>"


@pytest.fixture
def answers(wire):
    """What the server answers, in turn: an error's message, or None for a real answer."""

    def serve(*messages: str | None) -> None:
        for message in messages:
            if message is None:
                wire.stream(wire.chunk({"content": "ok"}, "stop"), DONE)
            else:
                wire.answer("400 Bad Request", json.dumps({"error": {"message": message}}), "Connection: close")

    return serve


@pytest.fixture
def talk(question):
    def make(form: EmptyContent = EmptyContent.NULL, messages: list | None = None):
        return replace(question("read", messages=messages or TALK), compatibility=Compatibility(empty_content=form))

    return make


def sent(wire) -> list[object]:
    """The content of the answer in each request, "no key" where it has none."""
    return [request.json["messages"][1].get("content", "no key") for request in wire.requests]


@pytest.mark.parametrize(("form", "content"), [("null", None), ("empty", ""), ("omit", "no key")])
async def test_A30_the_switch_says_what_stands_for_no_content(wire, ask, talk, answers, form, content):
    answers(None)
    assert (await ask(request=talk(EmptyContent(form)))).reply.content == "ok"
    assert sent(wire) == [content]


@pytest.mark.parametrize(
    ("form", "message", "contents"),
    [("null", NO_NULL, [None, ""]), ("empty", NO_EMPTY_TEXT, ["", None]), ("omit", NO_NULL, ["no key", ""])],
)
async def test_A30_a_refused_content_is_tried_once_the_other_way(wire, ask, talk, answers, form, message, contents):
    answers(message, None)
    told = await ask(request=talk(EmptyContent(form)))
    assert told.reply.content == "ok"
    assert sent(wire) == contents


async def test_A30_what_a_server_was_found_to_take_holds_for_the_next_request(wire, talk, answers, listen, opening):
    answers(NO_NULL, None, None)
    async with opening(ChatProvider(wire.base_url)) as provider:
        for _ in range(2):
            assert (await listen(provider, talk())).reply.content == "ok"
    assert sent(wire) == [None, "", ""]


async def test_A30_the_same_body_is_never_sent_twice_after_a_400(wire, ask, talk, answers):
    answers(NO_NULL, NO_EMPTY_TEXT)
    error = (await ask(request=talk())).error
    assert NO_EMPTY_TEXT in error.sentence
    assert not error.may_retry
    assert sent(wire) == [None, ""]


async def test_A30_another_400_is_not_tried_the_other_way(wire, ask, talk, answers):
    answers("temperature must be between 0 and 2")
    assert (await ask(request=talk())).error is not None
    assert len(wire.requests) == 1


async def test_A30_a_conversation_without_such_an_answer_is_not_tried_the_other_way(wire, ask, talk, answers):
    answers(NO_EMPTY_TEXT)
    assert (await ask(request=talk(messages=[{"role": "user", "content": ""}]))).error is not None
    assert len(wire.requests) == 1
