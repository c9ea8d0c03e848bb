"""Asking again: when, how often, how long after, and what is left when it did not help."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from msgspec.structs import replace

from agent.providers.base import ErrorKind, Restarting, TextPart
from agent.providers.chat import ChatProvider
from agent.providers.retry import RetryingProvider, backoff_s
from session.models import Usage

DONE = b"data: [DONE]\n\n"


@pytest.fixture
def waits():
    """The waits that were slept, in seconds."""
    return []


@pytest.fixture
async def provider(wire, waits):
    async def sleep(wait_s: float) -> None:
        waits.append(wait_s)

    provider = RetryingProvider(ChatProvider(wire.base_url, "sk-secret-1234"), sleep=sleep)
    yield provider
    await provider.aclose()


def full(wire):
    wire.stream(wire.chunk({"content": "all of it"}, "stop"), DONE)


def cut(wire, end, text="part"):
    wire.stream(wire.chunk({"content": text}), 0.02, end=end.RST)


async def test_A34_a_broken_answer_is_replaced_never_appended_to(wire, end, provider, listen, question):
    cut(wire, end)
    full(wire)
    told = await listen(provider, question())
    first, restart, second = told.parts
    assert (first, second) == (TextPart("part"), TextPart("all of it"))
    assert isinstance(restart, Restarting)
    assert (restart.attempt, restart.attempts) == (2, 3)
    assert told.reply.content == "all of it"


async def test_A34_at_most_two_retries_then_the_part_is_kept_and_marked_cut(wire, end, provider, listen, question):
    cut(wire, end)
    told = await listen(provider, question())
    assert len(wire.requests) == 3
    assert [part.attempt for part in told.parts if isinstance(part, Restarting)] == [2, 3]
    assert (told.error.is_cut, told.error.partial.content) == (True, "part")


async def test_A34_the_part_outlives_a_server_that_is_gone_at_the_last_attempt(wire, end, provider, listen, question):
    cut(wire, end)
    wire.answer("503 Unavailable", "busy")
    told = await listen(provider, question())
    assert (told.error.kind, told.error.is_cut) == (ErrorKind.OVERLOADED, True)
    assert told.error.partial.content == "part"


async def test_A15_a_stream_that_just_ends_is_asked_again(wire, provider, listen, question):
    wire.stream(wire.chunk({"content": "Half an ans"}))
    full(wire)
    assert (await listen(provider, question())).reply.content == "all of it"


@pytest.mark.parametrize("status", ["408 Request Timeout", "409 Conflict", "425 Too Early"])
async def test_a_server_that_could_not_take_the_request_now_is_asked_again(wire, provider, listen, question, status):
    wire.answer(status, "{}")
    full(wire)
    assert (await listen(provider, question())).reply.content == "all of it"


async def test_A32_the_server_says_how_long_to_wait(wire, provider, listen, question, waits):
    for _ in range(2):
        wire.answer("429 Too Many Requests", '{"error":{"message":"slow"}}', "Retry-After: 3")
    full(wire)
    told = await listen(provider, question())
    assert told.reply.content == "all of it"
    assert waits == [3.0, 3.0]
    assert [(part.attempt, part.attempts, part.wait_s) for part in told.parts[:2]] == [(2, 4, 3.0), (3, 4, 3.0)]
    assert "slow" in told.parts[0].reason


async def test_A32_a_day_is_not_slept(wire, provider, listen, question, waits):
    wire.answer("429 Too Many Requests", "{}", "Retry-After: 86400")
    assert (await listen(provider, question())).error.kind is ErrorKind.RATE_LIMIT
    assert (waits, len(wire.requests)) == ([], 1)


async def test_a_failing_server_is_asked_four_times_with_growing_waits(wire, provider, listen, question, waits):
    wire.answer("500 Oops", "{}")
    assert (await listen(provider, question())).error.kind is ErrorKind.SERVER_ERROR
    assert len(wire.requests) == 4
    assert [2 * 2**n <= wait_s <= 3 * 2**n for n, wait_s in enumerate(waits)] == [True] * 3


@pytest.mark.parametrize(
    "status", ["400 Bad Request", "401 Unauthorized", "402 Payment Required", "404 Not Found", "413 Too Large"]
)
async def test_a_body_that_was_refused_is_not_sent_again(wire, provider, listen, question, status):
    wire.answer(status, '{"error":{"message":"no"}}')
    told = await listen(provider, question())
    assert (told.parts, len(wire.requests)) == ([], 1)


async def test_a_restart_is_told_before_the_wait_and_the_wait_can_be_cancelled(wire, question):
    wire.answer("429 Too Many Requests", "{}", "Retry-After: 200")
    provider = RetryingProvider(ChatProvider(wire.base_url))
    parts = provider.stream(question())
    assert (await asyncio.wait_for(anext(parts), 5)).wait_s == 200
    waiting = asyncio.ensure_future(anext(parts))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await provider.aclose()
    assert len(wire.requests) == 1


async def test_leaving_a_stream_closes_the_connection(wire, end, provider, question):
    wire.stream(wire.chunk({"content": "part"}), end=end.OPEN)
    parts = provider.stream(question())
    assert await anext(parts) == TextPart("part")
    await parts.aclose()
    await asyncio.wait_for(wire.closed.wait(), 5)


def test_the_backoff_has_a_cap():
    assert max(backoff_s(failures) for failures in range(1, 40)) <= 60


@pytest.mark.parametrize("code", ["rate_limit_exceeded", "server_error", "overloaded"])
async def test_a_400_is_final_whatever_it_calls_itself(wire, provider, listen, question, code):
    wire.answer("400 Bad Request", json.dumps({"error": {"message": "no", "code": code}}))
    assert (await listen(provider, question())).error
    assert len(wire.requests) == 1


async def test_A37_an_overflow_is_not_sent_again(wire, provider, listen, question):
    message = "prompt is too long: 210000 tokens > 200000 maximum"
    wire.answer("400 Bad Request", json.dumps({"error": {"message": message}}))
    error = (await listen(provider, question())).error
    assert (error.window, len(wire.requests)) == (200_000, 1)


async def test_what_a_failed_attempt_took_is_told(wire, provider, listen, question):
    wire.stream(wire.chunk({"content": "part"}), wire.usage(30, 2))
    full(wire)
    told = await listen(provider, question())
    assert [part.usage for part in told.parts if isinstance(part, Restarting)] == [Usage(30, 2)]


async def test_an_empty_answer_is_waited_for_longer(wire, provider, listen, question, waits):
    wire.stream(b": nothing\n\n")
    assert (await listen(provider, question())).error.kind is ErrorKind.EMPTY_ANSWER
    assert [5 * 2**n <= wait_s <= 7.5 * 2**n for n, wait_s in enumerate(waits)] == [True] * 3


# --- nobody began to answer


async def test_when_no_answer_ever_began_one_line_names_host_attempts_and_size(wire, end, provider, listen, question):
    wire.serve(end.RST)
    error = (await listen(provider, question())).error
    assert f"No answer began at 127.0.0.1:{wire.port} in 4 attempts with a request of 1 KB." in error.sentence
    assert "looks unreachable" in error.sentence
    assert str(error) == error.sentence


async def test_a_large_request_that_nobody_answers_may_be_too_large(wire, end, provider, listen, question):
    wire.serve(end.RST)
    asked = question(messages=[{"role": "user", "content": "x" * 300_000}])
    sentence = (await listen(provider, asked)).error.sentence
    assert "a request of 293 KB. It or a proxy may refuse requests this large." in sentence


async def test_the_line_names_the_proxy_that_was_really_asked(
    wire, end, question, on_route, listen, opening, monkeypatch
):
    wire.serve(end.RST)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{wire.port}")
    base_url = "http://model.invalid/v1"
    async with opening(RetryingProvider(ChatProvider(base_url), request_retries=0)) as provider:
        error = (await listen(provider, on_route(question(), base_url=base_url))).error
    assert f"No answer began at 127.0.0.1:{wire.port} in 1 attempt" in error.sentence


async def test_a_server_that_began_once_is_not_called_unreachable(wire, end, provider, listen, question):
    cut(wire, end)
    wire.serve(end.RST)
    assert "No answer began" not in (await listen(provider, question())).error.sentence


# --- a large request nobody answered


LONG = "row of a table\n" * 10_000


def with_results(question, *contents: str):
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}} for n in range(len(contents))
    ]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": text} for n, text in enumerate(contents)]
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *results,
    ]
    return replace(question(messages=messages), session="s1")


@pytest.fixture
async def spilling(wire, tmp_path):
    async def at_once(_: float) -> None: ...

    provider = RetryingProvider(ChatProvider(wire.base_url), sleep=at_once, outputs=lambda session: tmp_path / session)
    yield provider
    await provider.aclose()


async def test_a_large_request_without_an_answer_is_sent_again_with_long_results_in_files(
    wire, end, spilling, listen, question, tmp_path
):
    wire.serve(end.RST)
    wire.serve(end.RST)
    full(wire)
    asked = with_results(question, LONG, "short", "y" * 120_000)
    before = json.dumps(asked.messages)
    told = await listen(spilling, asked)
    first, second, third = (request.json["messages"] for request in wire.requests)
    assert first == asked.messages
    assert json.dumps(asked.messages) == before
    assert second == third
    assert [len(message["content"] or "") for message in second[2:]] != [len(LONG), 5, 120_000]
    assert second[3]["content"] == "short"
    kept = {path.read_text() for path in (tmp_path / "s1").iterdir()}
    assert kept == {LONG, "y" * 120_000}
    assert all(str(tmp_path / "s1") in second[n]["content"] and len(second[n]["content"]) < 5_000 for n in (2, 4))
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "s1").iterdir())
    (warning,) = told.reply.warnings
    sizes = [len(msgspec.json.encode(messages)) for messages in (first, second)]
    assert f"a request of {sizes[0]:,} bytes. From attempt 2 of 4 on it was sent with {sizes[1]:,} bytes" in warning


async def test_where_nothing_can_be_shortened_it_is_sent_as_it_is_and_said_so(wire, end, spilling, listen, question):
    wire.serve(end.RST)
    full(wire)
    told = await listen(spilling, with_results(question, *["z" * 90_000] * 3))
    assert wire.requests[0].json == wire.requests[1].json
    assert "Nothing in it could be shortened: attempt 2 of 4 sent it unchanged." in told.reply.warnings[0]


async def test_a_small_request_and_one_that_was_answered_are_not_shortened(wire, end, spilling, listen, question):
    wire.serve(end.RST)
    full(wire)
    assert (await listen(spilling, with_results(question, "y" * 120_000))).reply.warnings == ()
    wire.scripts.clear()
    cut(wire, end)
    full(wire)
    assert (await listen(spilling, with_results(question, LONG, LONG))).reply.warnings == ()
    assert wire.requests[-1].json == wire.requests[-2].json
