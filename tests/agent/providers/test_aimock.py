"""A second opinion: both protocols against aimock, and chat against fakellm, servers that others wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent.providers.base import ErrorKind, ModelRequest, ReasoningPart, Restarting, TextPart
from agent.providers.chat import ChatProvider
from agent.providers.responses import ResponsesProvider
from agent.providers.retry import RetryingProvider
from session.models import ApiMode, Finish, Route, Usage

LONG = "a rather long answer, which comes in many small pieces, one after the other, until its last word"


@pytest.fixture(params=[ApiMode.CHAT, ApiMode.RESPONSES])
def mode(request: pytest.FixtureRequest) -> ApiMode:
    return request.param


CALLS = [
    {"id": "call_a", "name": "read", "arguments": {"path": 'a "b" ☂'}},
    {"id": "call_b", "name": "write", "arguments": {"path": "c", "content": "x\ny"}},
]
RATE_LIMIT = {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}

# What the server does by the prompt it gets.
ANSWERS: dict[str, dict[str, Any]] = {
    "greet": {
        "response": {
            "content": "Hello ☂",
            "reasoning": "They greet.",
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
    },
    "call": {"response": {"content": "Both.", "toolCalls": CALLS}, "chunkSize": 3},
    "limit": {"response": {"error": RATE_LIMIT, "status": 429}},
    "drop": {"response": {"content": "x"}, "chaos": {"dropRate": 1}},
    "truncate": {"response": {"content": LONG}, "chunkSize": 4, "truncateAfterChunks": 6},
    "disconnect": {"response": {"content": LONG}, "chunkSize": 4, "latency": 10, "disconnectAfterMs": 60},
    "destroy": {"response": {"content": "x"}, "chaos": {"disconnectRate": 1}},
    "garble": {"response": {"content": "x"}, "chaos": {"malformedRate": 1}},
    "dawdle": {"response": {"content": LONG}, "latency": 15, "chunkSize": 8},
}


@pytest.fixture(scope="module")
def server(lasting_aimock: Callable[..., Any]) -> Any:
    return lasting_aimock([{"match": {"userMessage": prompt}, **answer} for prompt, answer in ANSWERS.items()])


@pytest.fixture
def hear(mode: ApiMode, server: Any, listen: Callable[..., Any], opening: Callable[..., Any]) -> Any:
    """Sends a prompt on the protocol under test; again up to `retries` times."""

    async def once(prompt: str, retries: int = 0) -> Any:
        route = Route("mock", "m", server.base_url, mode)
        tools = [
            {"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in ("read", "write")
        ]
        request = ModelRequest(route, [{"role": "user", "content": prompt}], tools)
        kind = ChatProvider if mode is ApiMode.CHAT else ResponsesProvider
        provider = RetryingProvider(kind(server.base_url), retries, retries, sleep=lambda _: asyncio.sleep(0))
        async with opening(provider):
            return await listen(provider, request)

    return once


async def test_an_answer_with_thinking_and_usage(hear: Any) -> None:
    told = await hear("greet")
    assert (told.reply.content, told.reply.reasoning, told.reply.finish) == ("Hello ☂", "They greet.", Finish.STOP)
    assert told.reply.usage == Usage(11, 7)
    assert "".join(part.text for part in told.parts if isinstance(part, TextPart)) == "Hello ☂"
    assert "".join(part.text for part in told.parts if isinstance(part, ReasoningPart)) == "They greet."


async def test_parallel_calls_beside_text(hear: Any) -> None:
    told = await hear("call")
    assert told.reply.finish is Finish.TOOL_CALLS
    assert told.reply.content == "Both."
    assert [(call.id, call.name) for call in told.reply.calls] == [("call_a", "read"), ("call_b", "write")]
    assert [call.arguments for call in told.reply.calls] == ['{"path":"a \\"b\\" ☂"}', '{"path":"c","content":"x\\ny"}']


async def test_a_rate_limit_is_told_as_one(hear: Any) -> None:
    told = await hear("limit")
    assert (told.error.kind, told.error.may_retry) == (ErrorKind.RATE_LIMIT, True)
    assert "slow down" in told.error.sentence


async def test_a_dropped_request_is_a_failing_server_and_is_asked_again(hear: Any) -> None:
    told = await hear("drop", retries=2)
    assert told.error.kind is ErrorKind.SERVER_ERROR
    assert [part.attempt for part in told.parts if isinstance(part, Restarting)] == [2, 3]


@pytest.mark.parametrize("fault", ["truncate", "disconnect"])
async def test_an_answer_that_breaks_off_is_never_a_finished_one(hear: Any, fault: str) -> None:
    told = await hear(fault)
    assert (told.error.kind, told.error.is_cut, told.error.may_retry) == (ErrorKind.TIMEOUT, True, True)
    kept = told.error.partial.content
    assert LONG.startswith(kept)
    assert len(kept) < len(LONG)


async def test_a_connection_that_is_destroyed_at_once_is_told(hear: Any) -> None:
    told = await hear("destroy")
    assert (told.error.kind, told.error.may_retry) == (ErrorKind.TIMEOUT, True)


async def test_a_body_that_is_no_stream_is_no_answer(hear: Any) -> None:
    told = await hear("garble")
    assert told.error is not None
    assert told.error.partial.content == ""


async def test_a_slow_answer_comes_in_pieces_as_they_are_sent(hear: Any) -> None:
    told = await hear("dawdle")
    assert told.reply.content == LONG
    assert len([part for part in told.parts if isinstance(part, TextPart)]) >= len(LONG) // 8


# --- fakellm, the poor server

RULES = [
    {"name": "call", "when": {"messages_contain": "do it"}, "respond": {"tool_calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "read", "arguments": {"path": "b"}}]}},
    {"name": "words", "when": {"messages_contain": "say it"}, "respond": {"content": "some words"}},
]  # fmt: skip


@pytest.fixture(scope="module")
def poor_url(fakellm: Callable[..., str]) -> str:
    return fakellm(RULES)


@pytest.fixture
def poor(poor_url: str, listen: Callable[..., Any], opening: Callable[..., Any]) -> Any:
    """Says something to the poor server on a protocol."""

    async def say(text: str, mode: ApiMode = ApiMode.CHAT) -> Any:
        tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
        request = ModelRequest(Route("poor", "m", poor_url, mode), [{"role": "user", "content": text}], tools)
        kind = ChatProvider if mode is ApiMode.CHAT else ResponsesProvider
        async with opening(kind(poor_url)) as provider:
            return await listen(provider, request)

    return say


async def test_a_server_that_counts_nothing_gives_no_usage(poor: Any) -> None:
    told = await poor("say it")
    assert (told.reply.content, told.reply.finish, told.reply.usage) == ("some words", Finish.STOP, None)


async def test_the_calls_of_a_poor_server_are_whole(poor: Any) -> None:
    told = await poor("do it")
    assert [(call.name, call.arguments) for call in told.reply.calls] == [
        ("read", '{"path": "a"}'),
        ("read", '{"path": "b"}'),
    ]
    assert len({call.id for call in told.reply.calls}) == 2


async def test_a_server_without_responses_says_so_and_is_not_taken_for_one_without_the_model(poor: Any) -> None:
    told = await poor("say it", ApiMode.RESPONSES)
    assert told.error.may_retry is False
    assert "404" in told.error.sentence
