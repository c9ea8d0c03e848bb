"""Asking again: when, how often, how long after, and what is left when it did not help."""

from __future__ import annotations

import asyncio

import pytest

from agent.providers.base import ErrorKind, Restarting, TextPart
from agent.providers.chat import ChatProvider
from agent.providers.retry import RetryingProvider, backoff_s

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
