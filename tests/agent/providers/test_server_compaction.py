"""A Responses server that shortens the conversation itself: asked when told so, and its sealed account of it sent back."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from agent.providers.base import ModelRequest, Reply
from agent.providers.compatibility import Compatibility
from agent.request import wire_messages
from session.models import ApiMode, Approval, CallOutcome, CallResult, Message, Role, Route

CAN = Compatibility(server_compaction=True)
SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gBBBB"}
SAID = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Fine."}]}
COMPACT = [{"type": "compaction", "compact_threshold": 50_000}]


def row(role: Role, content: str = "", **fields: object) -> Message:
    return Message(session_id="s", role=role, content=content, created_at=0.0, **fields)


def answered(reply: Reply) -> Message:
    return row(Role.ASSISTANT, reply.content, calls=reply.calls, finish=reply.finish, extras=reply.extras)


FIRST = (row(Role.USER, "One."), row(Role.ASSISTANT, "First."), row(Role.USER, "Two."))
DONE = row(Role.TOOL, "done", result=CallResult("call_1", "read", CallOutcome.OK, Approval.NOT_ASKED))


@pytest.fixture
def asked(wire):
    """A request with these rows that may be compacted."""

    def make(*rows: Message, model: str = "m", **fields: object) -> ModelRequest:
        route = Route("test", model, wire.base_url, ApiMode.RESPONSES, "TEST_KEY")
        messages = wire_messages(rows, "Be brief.", route)
        return replace(ModelRequest(route, messages, [], compatibility=CAN, compact_at=50_000), **fields)

    return make


@pytest.fixture
def answer(wire):
    """Lets the wire answer once with these items."""

    def make(*items: dict, **response: object) -> None:
        done = [wire.event("response.output_item.done", output_index=at, item=item) for at, item in enumerate(items)]
        wire.stream(*done, wire.event("response.completed", response={"status": "completed"} | response))

    return make


@pytest.fixture
def then(wire, ask_responses, asked, answer):
    """Is answered with these items and asks again; the reply, and the input of the second request."""

    async def make(*items: dict, behind: tuple[Message, ...] = (), model: str = "m") -> tuple[Reply, list]:
        answer(*items)
        reply = (await ask_responses(request=asked(*FIRST))).reply
        wire.scripts.clear()
        answer(SAID)
        rows = (*FIRST, answered(reply), *behind, row(Role.USER, "Three."))
        await ask_responses(request=asked(*rows, model=model))
        return reply, wire.requests[-1].json["input"]

    return make


def kinds(items: list) -> list[str]:
    return [item["content"] if item.get("role") == "user" else item["type"] for item in items]


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        ({}, COMPACT),
        ({"compact_at": None}, None),
        ({"compatibility": Compatibility()}, None),
        ({"extra_body": {"context_management": []}}, []),
    ],
)
async def test_it_is_asked_only_when_the_caller_says_so_of_a_server_that_can(
    wire, ask_responses, asked, answer, changes, sent
):
    answer(SAID)
    reply = (await ask_responses(request=asked(*FIRST, **changes))).reply
    assert wire.requests[0].json.get("context_management") == sent
    assert not reply.is_compacted


async def test_what_was_compacted_is_left_out_of_the_next_request_and_the_account_of_it_stands_first(wire, then):
    reply, sent = await then(SEALED, THOUGHT, SAID)
    assert (reply.is_compacted, reply.content) == (True, "Fine.")
    assert kinds(sent) == ["compaction", "reasoning", "message", "Three."]
    assert sent[0] == SEALED
    assert wire.requests[-1].json["instructions"] == "Be brief."


async def test_words_before_the_compaction_of_the_same_answer_are_left_out_too(then):
    _, sent = await then(SAID, SEALED, SAID | {"id": "msg_2"})
    assert kinds(sent) == ["compaction", "message", "Three."]


async def test_a_call_before_the_compaction_of_the_same_answer_stays_with_its_output(then):
    _, sent = await then(CALL, SEALED, behind=(DONE,))
    assert kinds(sent) == ["function_call", "compaction", "function_call_output", "Three."]


async def test_a_compaction_that_only_the_end_tells_of_counts(wire, ask_responses, asked, answer):
    answer(output=[SEALED, SAID])
    assert (await ask_responses(request=asked(*FIRST))).reply.is_compacted


async def test_another_model_gets_the_whole_conversation(then):
    _, sent = await then(SEALED, SAID, model="other")
    assert kinds(sent) == ["One.", "message", "Two.", "message", "Three."]


async def test_that_the_server_read_less_than_the_whole_conversation_is_no_warning(wire, ask_responses, asked, answer):
    usage = {"input_tokens": 1_200, "output_tokens": 1}
    long = (row(Role.USER, "The quick brown fox jumps over the lazy dog. " * 2_000), *FIRST[1:])
    answer(SEALED | {"encrypted_content": "x" * 90_000}, SAID, usage=usage)
    reply = (await ask_responses(request=asked(*long))).reply
    wire.scripts.clear()
    answer(SAID, usage=usage)
    again = (await ask_responses(request=asked(*long, answered(reply), row(Role.USER, "Three.")))).reply
    assert (reply.warnings, again.warnings) == ((), ())


async def test_a_server_that_refuses_to_compact_is_asked_again_without(wire, ask_responses, asked, answer):
    error = {"message": "Unknown parameter: 'context_management'.", "param": "context_management"}
    wire.answer("400 Bad Request", json.dumps({"error": error}))
    answer(SAID)
    assert (await ask_responses(request=asked(*FIRST))).reply.content == "Fine."
    assert ["context_management" in request.json for request in wire.requests] == [True, False]
