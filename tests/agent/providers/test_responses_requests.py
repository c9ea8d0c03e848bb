"""What a Responses server is sent: the conversation as items, in order and in pairs, and what it wants back of its own."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from openai import AsyncOpenAI

from agent.providers.base import ErrorKind, ModelRequest
from agent.providers.compatibility import Compatibility
from agent.providers.responses import ResponsesProvider
from agent.providers.responses_dialect import dialect_of, response_arguments
from agent.providers.responses_input import conversation, function_tools
from agent.request import wire_messages
from session.models import ApiMode, CallOutcome, CallResult, Message, Role, Route
from session.models import Approval as Given

TOOL = {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}}
PHOTO = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}}


def row(role: Role, content: str = "", **fields: object) -> Message:
    return Message(session_id="s", role=role, content=content, created_at=0.0, **fields)


def asked(text: str) -> Message:
    return row(Role.USER, text)


def result(call_id: str, text: str = "done", outcome: CallOutcome = CallOutcome.OK) -> Message:
    return row(Role.TOOL, text, result=CallResult(call_id, "read", outcome, Given.NOT_ASKED))


def answered(reply) -> Message:
    """A reply as the row that it becomes."""
    return row(
        Role.ASSISTANT,
        reply.content,
        reasoning=reply.reasoning,
        refusal=reply.refusal,
        calls=reply.calls,
        finish=reply.finish,
        extras=reply.extras,
    )


def thought(name: str = "rs_1", **fields: object) -> dict:
    return {"type": "reasoning", "id": name, "summary": []} | fields


def call(call_id: str = "call_1", **fields: object) -> dict:
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "read", "arguments": "{}"}
    return item | {"status": "completed"} | fields


def said(text: str, **fields: object) -> dict:
    parts = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": parts} | fields


@pytest.fixture
def route(wire) -> Route:
    return Route("test", "m", wire.base_url, ApiMode.RESPONSES, "TEST_KEY")


@pytest.fixture
def request_of(route):
    """The request that a turn makes of these rows."""

    def make(*rows: Message, **fields: object) -> ModelRequest:
        return ModelRequest(route, wire_messages(rows, "Be brief.", route), [TOOL], **fields)

    return make


@pytest.fixture
def answer(wire):
    """Lets the wire answer once with these items."""

    def make(*items: dict) -> None:
        done = [
            wire.event("response.output_item.done", output_index=index, item=item) for index, item in enumerate(items)
        ]
        wire.stream(*done, wire.event("response.completed", response={"status": "completed"}))

    return make


@pytest.fixture
def told(wire, ask_responses, request_of, answer):
    """Asks, is answered with these items, and asks again with the rows that follow; the input of the second request."""

    async def make(*items: dict, then=lambda row: [row]) -> list:
        answer(*items)
        first = asked("Look.")
        reply = (await ask_responses(request=request_of(first))).reply
        wire.scripts.clear()
        answer(said("ok"))
        await ask_responses(request=request_of(first, *then(answered(reply)), asked("Go on.")))
        return wire.requests[-1].json["input"]

    return make


async def test_a_chat_shaped_conversation_becomes_instructions_and_items(wire, ask_responses, question, answer):
    answer(said("ok"))
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "See:"}, PHOTO]},
        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "hello"},
        {"role": "user", "content": "And?"},
    ]  # fmt: skip
    await ask_responses(request=replace(question(messages=messages), tools=[TOOL]))
    assert wire.requests[0].json == {
        "model": "m",
        "instructions": "Be brief.",
        "stream": True,
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "See:"},
                    {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,aGk="},
                ],
            },
            {"type": "message", "role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "hello"},
            {"type": "message", "role": "user", "content": "And?"},
        ],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
    }


async def test_B03_a_thought_goes_with_the_call_it_led_to_after_an_interrupt(told):
    items = [thought(encrypted_content="gA=="), call()]
    stopped = result("call_1", "interrupted", CallOutcome.INTERRUPTED)
    sent = await told(*items, then=lambda row: [row, stopped])
    output = {"type": "function_call_output", "call_id": "call_1", "output": "interrupted"}
    assert sent[1:-1] == [*items, output]


async def test_B03_a_thought_that_led_to_nothing_is_not_sent(told):
    sent = await told(said("Hm."), thought())
    assert [item["type"] for item in sent] == ["message", "message", "message"]


async def test_B03_a_server_that_wants_no_thought_is_asked_again_without_any(wire, ask_responses, request_of, answer):
    answer(thought(), said("Hm."))
    first = asked("Look.")
    reply = (await ask_responses(request=request_of(first))).reply
    wire.scripts.clear()
    refusal = "Item 'rs_1' of type 'reasoning' was provided without its required following item."
    wire.answer("400 Bad Request", json.dumps({"error": {"message": refusal}}))
    answer(said("ok"))
    request = request_of(first, answered(reply), asked("Go on."))
    assert (await ask_responses(request=request)).reply.content == "ok"
    refused, taken = wire.requests[-2:]
    assert "reasoning" in [item["type"] for item in refused.json["input"]]
    assert taken.json["input"] == [
        {"type": "message", "role": "user", "content": "Look."},
        {"type": "message", "role": "assistant", "content": "Hm."},
        {"type": "message", "role": "user", "content": "Go on."},
    ]


async def test_B04_the_items_of_a_turn_keep_their_order(told):
    items = [said("One.", phase="commentary"), thought(), call(), said("Two.", id="msg_2")]
    sent = await told(*items, then=lambda row: [row, result("call_1")])
    assert sent[1:5] == items
    assert sent[5]["type"] == "function_call_output"


async def test_B04_what_the_server_ran_itself_goes_back_as_it_came(told):
    items = [thought(), {"type": "web_search_call", "id": "ws_1", "status": "completed"}, said("Found.")]
    assert (await told(*items))[1:-1] == items


async def test_B05_a_call_without_an_output_gets_one_stand_in(told):
    sent = await told(thought(), call(), then=lambda row: [row])
    outputs = [item["output"] for item in sent if item["type"] == "function_call_output"]
    assert len(outputs) == 1
    assert "no result was recorded" in outputs[0]


async def test_B06_an_output_without_its_call_is_not_sent(wire, ask_responses, question, answer):
    answer(said("ok"))
    messages = [{"role": "tool", "tool_call_id": "call_1", "content": "lost"}, {"role": "user", "content": "hi"}]
    await ask_responses(request=question(messages=messages))
    assert [item["type"] for item in wire.requests[0].json["input"]] == ["message"]


async def test_B06_a_call_whose_output_was_trimmed_goes_with_it(wire, ask_responses, question, answer):
    answer(said("ok"))
    lost = {"id": "call_1", "function": {"name": "read", "arguments": "{}"}}
    await ask_responses(request=question(messages=[{"role": "assistant", "content": None, "tool_calls": [lost]}]))
    assert wire.requests[0].json["input"] == []


@pytest.mark.parametrize("empty", [thought(), {"type": "reasoning", "id": "rs_1"}])
async def test_B07_an_empty_thought_is_sent_with_its_empty_summary(told, empty):
    assert (await told(empty, call(), then=lambda row: [row, result("call_1")]))[1] == thought()


async def test_B07_a_server_that_knows_no_thoughts_is_not_sent_any_again(wire, listen, opening, request_of, answer):
    answer(thought(), call())
    wire.answer("400 Bad Request", json.dumps({"error": {"message": "Cannot determine type of 'item'"}}))
    answer(said("ok"))
    first = asked("Look.")
    async with opening(ResponsesProvider(wire.base_url)) as provider:
        reply = (await listen(provider, request_of(first))).reply
        again = request_of(first, answered(reply), result("call_1"))
        assert (await listen(provider, again)).reply.content == "ok"
        assert (await listen(provider, again)).reply.content == "ok"
    bodies = [request.body for request in wire.requests]
    assert (len(bodies), b'"reasoning"' in bodies[1], bodies[2] == bodies[3]) == (4, True, True)
    assert b'"reasoning"' not in bodies[2]


async def test_a_refused_request_without_thoughts_is_not_sent_again(wire, ask_responses, request_of):
    wire.answer("400 Bad Request", json.dumps({"error": {"message": "reasoning.effort is not supported"}}))
    error = (await ask_responses(request=request_of(asked("hi")))).error
    assert (error.kind, error.may_retry, len(wire.requests)) == (ErrorKind.FORMAT_ERROR, False, 1)


@pytest.mark.parametrize("change", [{"model": "other"}, {"provider": "other"}])
async def test_another_model_gets_what_the_row_says_and_no_thoughts(
    wire, ask_responses, request_of, answer, route, change
):
    answer(thought(encrypted_content="gA=="), call())
    first = asked("Look.")
    row = answered((await ask_responses(request=request_of(first))).reply)
    other = replace(route, **change)
    messages = wire_messages([first, row, result("call_1")], "", other)
    await ask_responses(request=ModelRequest(other, messages, []))
    assert [item["type"] for item in wire.requests[-1].json["input"]] == [
        "message",
        "function_call",
        "function_call_output",
    ]


async def test_what_the_row_says_stands_where_its_items_say_something_else(wire, ask_responses, request_of, answer):
    answer(thought(), said("The key is sk-1."))
    row = answered((await ask_responses(request=request_of(asked("Key?")))).reply)
    await ask_responses(request=request_of(asked("Key?"), replace(row, content="The key is ***."), asked("Go on.")))
    assert wire.requests[-1].json["input"][1] == {"type": "message", "role": "assistant", "content": "The key is ***."}


async def test_broken_arguments_never_go_back(told):
    sent = await told(thought(), call(arguments='{"path": foo'), then=lambda row: [row, result("call_1")])
    assert sent[2]["arguments"] == "{}"


async def test_a_call_under_another_id_goes_back_under_that(wire, ask_responses, request_of, answer):
    answer(thought(), call())
    first = asked("Look.")
    row = answered((await ask_responses(request=request_of(first))).reply)
    row = replace(row, calls=(replace(row.calls[0], id="call_own"),))
    await ask_responses(request=request_of(first, row, result("call_own")))
    sent = wire.requests[-1].json["input"]
    assert [item.get("call_id") for item in sent] == [None, None, "call_own", "call_own"]


async def test_a_built_in_tool_of_the_client_goes_back_as_a_call_with_its_output(told):
    patch = {"type": "apply_patch_call", "id": "p", "call_id": "call_1", "operation": {"path": "a"}}
    sent = await told(patch, then=lambda row: [row, result("call_1", "no such tool")])
    assert sent[1] == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "apply_patch_call",
        "arguments": '{"path":"a"}',
    }
    assert sent[2]["output"] == "no such tool"


async def test_an_answer_that_its_row_says_whole_is_kept_once(wire, ask_responses, request_of, answer):
    answer(said("Hi."), call())
    assert (await ask_responses(request=request_of(asked("hi")))).reply.extras == ""


# --- beside the conversation


def openai_request(model: str = "gpt-5.1", base_url: str = "https://api.openai.com/v1", **extra: object) -> dict:
    route = Route("openai", model, base_url, ApiMode.RESPONSES)
    request = ModelRequest(route, [{"role": "user", "content": "hi"}], [], extra)
    dialect = dialect_of(route)
    return dict(response_arguments(request, conversation(request.messages, route, dialect.thoughts), dialect))


@pytest.mark.parametrize(
    "base_url",
    ["https://api.openai.com/v1", "https://x.openai.azure.com/openai/v1", "https://chatgpt.com/backend-api/codex"],
)
def test_openai_stores_nothing_and_seals_its_thoughts(base_url):
    arguments = openai_request(base_url=base_url)
    assert (arguments["store"], arguments["include"]) == (False, ["reasoning.encrypted_content"])


def test_a_model_that_does_not_think_is_not_asked_for_thoughts():
    arguments = openai_request("gpt-4.1")
    assert (arguments["store"], bool(arguments["include"])) == (False, False)


def test_openai_gets_only_sealed_thoughts_back():
    def sent(item: dict) -> list:
        route = Route("openai", "gpt-5.1", "https://api.openai.com/v1", ApiMode.RESPONSES)
        extras = {"responses": {"provider": "openai", "model": "gpt-5.1", "items": [item, said("Hi.")]}}
        messages = [{"role": "assistant", "content": "Hi.", "_extras": json.dumps(extras)}]
        return conversation(messages, route, dialect_of(route).thoughts).input

    assert sent(thought(encrypted_content="gA=="))[0]["type"] == "reasoning"
    assert [item["type"] for item in sent(thought())] == ["message"]


async def test_a_server_that_has_no_sealed_thoughts_is_asked_again_without(
    wire, ask_responses, request_of, answer, monkeypatch
):
    monkeypatch.setattr("agent.providers.responses_dialect._is_openai", lambda _: True)
    wire.answer(
        "400 Bad Request", json.dumps({"error": {"message": "Encrypted content is not supported with this model."}})
    )
    answer(said("ok"))
    assert (await ask_responses(request=request_of(asked("hi")))).reply.content == "ok"
    assert ["include" in request.json for request in wire.requests] == [True, False]


async def test_other_servers_are_told_nothing_about_storing(wire, ask_responses, request_of, answer):
    answer(said("ok"))
    await ask_responses(request=request_of(asked("hi"), extra_body={"store": True, "reasoning": {"effort": "low"}}))
    body = wire.requests[0].json
    assert (body["store"], body["reasoning"], "include" in body) == (True, {"effort": "low"}, False)


def test_codex_at_chatgpt_is_not_told_how_long_to_keep_a_cache():
    extra = {"prompt_cache_retention": "24h", "prompt_cache_key": "k"}
    codex = openai_request(base_url="https://chatgpt.com/backend-api/codex/", **extra)["extra_body"]
    assert ("prompt_cache_retention" in codex, codex["prompt_cache_key"]) == (False, "k")
    for base_url in ("https://chatgpt.com/backend-api/other", "https://chatgpt.com.example/backend-api/codex"):
        assert "prompt_cache_retention" in openai_request(base_url=base_url, **extra)["extra_body"]


async def test_calls_one_by_one_are_asked_for_where_the_server_knows_no_others(wire, ask_responses, request_of, answer):
    answer(said("ok"))
    await ask_responses(request=request_of(asked("hi"), compatibility=Compatibility(parallel_calls=False)))
    assert wire.requests[0].json["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    "extra", [{}, {"temperature": 0.5, "reasoning": {"effort": "high"}}, {"input": "mine", "tools": [], "store": True}]
)
async def test_the_bytes_are_those_of_the_typed_path(wire, ask_responses, request_of, answer, extra):
    answer(said("ok"))
    rows = [asked("Grüß dich \N{GRINNING FACE}"), row(Role.ASSISTANT, "Hi."), asked("again")]
    request = request_of(*rows, extra_body=extra)
    await ask_responses(request=request)
    said_before = conversation(request.messages, request.route, dialect_of(request.route).thoughts)
    async with AsyncOpenAI(api_key="k", base_url=wire.base_url, max_retries=0) as client:
        create = client.responses.with_streaming_response.create
        async with create(
            model="m",
            instructions=said_before.instructions,
            input=said_before.input,
            tools=function_tools(request.tools),
            stream=True,
            extra_body=extra,
        ) as response:
            await response.read()
    ours, typed = (sent.body for sent in wire.requests)
    assert ours == typed
