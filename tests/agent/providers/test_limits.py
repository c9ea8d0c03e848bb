"""The limits of one attempt: what trips each, what does not, and that an attempt whose time is up never passes for whole."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from agent.providers.base import ErrorKind, Restarting, TextPart
from agent.providers.chat import ChatProvider
from agent.providers.retry import RetryingProvider
from agent.providers.watch import Overdue, Timeouts, Watch
from agent.providers.wire_log import RecordedProvider, WireLog

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@pytest.fixture
def retrying(wire):
    """A provider that asks again at once."""

    async def at_once(_: float) -> None: ...

    return lambda **limits: RetryingProvider(
        ChatProvider(wire.base_url, limits=lambda: Timeouts(**limits)), sleep=at_once
    )


async def test_A36_keep_alives_before_the_first_word_trip_neither_limit(wire, ask):
    wire.stream(*[PING, 0.2] * 5, wire.chunk({"content": "ok"}, "stop"), DONE)
    assert (await ask(limits=lambda: Timeouts(first_byte_s=0.7, idle_s=0.7))).reply.content == "ok"


async def test_a_server_that_only_sends_keep_alives_is_ended_by_the_limit_for_all(wire, ask):
    wire.stream(*[PING, 0.05] * 100)
    error = (await ask(limits=lambda: Timeouts(total_s=0.4))).error
    assert (error.kind, error.may_retry) == (ErrorKind.TIMEOUT, True)
    assert "0.4 s" in error.sentence


async def test_the_limit_for_all_ends_an_answer_that_never_ends_and_keeps_its_part(wire, ask):
    wire.stream(*[wire.chunk({"content": "x"}), 0.05] * 100)
    error = (await ask(limits=lambda: Timeouts(total_s=0.4))).error
    assert error.is_cut
    assert set(error.partial.content) == {"x"}


@pytest.mark.parametrize("part", [b"", HEAD])
async def test_silence_before_anything_is_ended_by_the_limit_for_the_first_byte(wire, ask, end, part):
    wire.serve(part, end.OPEN)
    error = (await ask(limits=lambda: Timeouts(first_byte_s=0.2, idle_s=0.01))).error
    assert "no answer began within 0.2 s" in error.sentence
    assert error.contact.is_open is bool(part)
    await asyncio.wait_for(wire.closed.wait(), 5)


async def test_no_limit_is_zero(wire, ask):
    wire.stream(0.2, wire.chunk({"content": "ok"}, "stop"), DONE)
    no_limit = Timeouts(connect_s=0, first_byte_s=0, idle_s=0, total_s=0)
    assert (await ask(limits=lambda: no_limit)).reply.content == "ok"


@pytest.mark.parametrize("silent", [[b""], [HEAD], [HEAD, b'data: {"choices":[{"delta":{"content":"par"}}]}\n\n']])
async def test_a_silent_stream_is_left_and_the_retry_lands(wire, end, retrying, listen, question, opening, silent):
    wire.serve(*silent, end.OPEN)
    wire.stream(wire.chunk({"content": "all of it"}, "stop"), DONE)
    async with opening(retrying(first_byte_s=0.2, idle_s=0.2)) as provider:
        told = await asyncio.wait_for(listen(provider, question()), 10)
    assert told.reply.content == "all of it"
    assert [part.attempt for part in told.parts if isinstance(part, Restarting)] == [2]


async def test_zero_does_not_drain(wire, ask, end):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), 0.05, wire.usage(3, 1), end=end.OPEN)
    reply = (await ask(limits=lambda: Timeouts(drain_s=0))).reply
    assert (reply.content, reply.usage) == ("ok", None)


async def test_the_drain_takes_as_long_as_is_set_when_it_begins(wire, question, opening, end):
    gate = asyncio.Event()
    limits = [Timeouts(drain_s=60)]
    wire.stream(wire.chunk({"content": "ok"}), gate, wire.chunk({}, "stop"), end=end.OPEN)
    async with (
        opening(ChatProvider(wire.base_url, limits=lambda: limits[0])) as provider,
        aclosing(provider.stream(question())) as parts,
    ):
        assert await anext(parts) == TextPart("ok")
        limits[0] = Timeouts(drain_s=0.05)
        gate.set()
        assert (await asyncio.wait_for(anext(parts), 10)).content == "ok"


async def test_the_first_event_is_stamped_once_though_it_is_no_text(wire, question, opening, end, tmp_path, listen):
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    late = wire.chunk({"content": "late"}, "stop")
    wire.stream(PING, 0.2, wire.chunk({"tool_calls": [call]}), 0.4, late, DONE)
    log = WireLog(tmp_path / "wire.log")
    async with opening(RecordedProvider(ChatProvider(wire.base_url), log)) as provider:
        await listen(provider, question("read"))
    (exchange,) = log.exchanges()
    assert exchange.first_s > 0.15  # a keep-alive is no event
    assert exchange.ended_s > exchange.first_s + 0.3


async def test_a_reader_that_does_not_hear_its_end_has_its_socket_shut_down_and_still_raises(wire, end):
    """What stands between us and the server may swallow a cancellation: then the silence itself is ended."""
    wire.serve(end.OPEN)
    reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
    body = json.dumps({}).encode()
    writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    watch = Watch(lambda: Timeouts(first_byte_s=0.1))

    class Stream:
        def get_extra_info(self, info: str) -> object:
            return writer.get_extra_info(info)

    watch.connected(Stream())

    async def deaf() -> bytes:
        reading = asyncio.ensure_future(reader.read())
        while not reading.done():
            try:
                await asyncio.shield(reading)
            except asyncio.CancelledError:
                pass
        return reading.result()

    with pytest.raises(Overdue):
        await asyncio.wait_for(watch.wait(deaf()), 5)
    writer.close()
