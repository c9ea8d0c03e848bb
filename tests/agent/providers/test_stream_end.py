"""How a stream ends, and what is left of it: sockets, tasks, and answers that were already whole."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.providers.base import ErrorKind, TextPart
from agent.providers.chat import ChatProvider
from agent.providers.watch import Timeouts
from session.models import Finish, Usage

DONE = b"data: [DONE]\n\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def framed(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


async def test_done_ends_the_answer_though_the_socket_stays_open(wire, ask, end):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), DONE, end=end.OPEN)
    told = await asyncio.wait_for(ask(limits=lambda: Timeouts(drain_s=60)), 20)
    assert told.reply.content == "ok"


async def test_a_finish_ends_the_answer_after_the_drain_though_the_socket_stays_open(wire, ask, end):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), end=end.OPEN)
    assert (await ask(limits=lambda: Timeouts(drain_s=0.1))).reply.content == "ok"


async def test_usage_that_comes_within_the_drain_is_read(wire, ask, end):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), 0.1, wire.usage(3, 1), end=end.OPEN)
    assert (await ask(limits=lambda: Timeouts(drain_s=1.0))).reply.usage == Usage(3, 1)


async def test_words_that_come_within_the_drain_belong_to_the_answer(wire, ask, end):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), 0.1, wire.chunk({"content": " then"}), DONE, end=end.OPEN)
    told = await ask(limits=lambda: Timeouts(drain_s=60))
    assert (told.parts, told.reply.content) == ([TextPart("ok"), TextPart(" then")], "ok then")


async def test_a_reset_behind_a_finished_answer_takes_nothing_away(wire, ask, end):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), 0.05, end=end.RST)
    assert (await ask()).reply.content == "ok"


async def test_A34_a_reset_in_mid_answer_keeps_the_part(wire, ask, end):
    wire.stream(wire.chunk({"content": "part"}), 0.05, end=end.RST)
    error = (await ask()).error
    assert (error.is_cut, error.may_retry, error.partial.content) == (True, True, "part")


async def test_a_chunked_body_that_stops_in_the_middle_is_cut(wire, ask, end):
    wire.serve(CHUNKED + framed(wire.chunk({"content": "part"})), end.EOF)
    error = (await ask()).error
    assert (error.is_cut, error.partial.content) == (True, "part")


async def test_a_json_line_that_stops_in_the_middle_is_cut(wire, ask):
    wire.stream(wire.chunk({"content": "part"}), wire.chunk({"content": "more"})[:-12])
    error = (await ask()).error
    assert (error.is_cut, error.partial.content) == (True, "part")


async def test_a_line_that_is_no_json_breaks_the_answer(wire, ask):
    wire.stream(wire.chunk({"content": "part"}), b"data: {oops\n\n", wire.chunk({"content": "x"}, "stop"), DONE)
    error = (await ask()).error
    assert (error.is_cut, error.partial.content) == (True, "part")


async def test_one_connection_serves_the_next_request_too(wire, question, listen, opening, end):
    whole = CHUNKED + framed(wire.chunk({"content": "ok"}, "stop"), DONE) + b"0\r\n\r\n"
    wire.serve(whole, end.NEXT)
    async with opening(ChatProvider(wire.base_url)) as provider:
        for _ in range(3):
            assert (await listen(provider, question())).reply.content == "ok"
        assert (len(wire.requests), wire.open_sockets) == (3, 1)


async def test_cancelling_closes_the_connection_and_leaves_no_task(wire, question, listen, opening):
    reached = asyncio.Event()
    wire.stream(wire.chunk({"content": "part"}), asyncio.Event())
    async with opening(ChatProvider(wire.base_url)) as provider:
        await provider.warm()
        before = asyncio.all_tasks()

        async def consume():
            async for part in provider.stream(question()):
                assert part == TextPart("part")
                reached.set()

        task = asyncio.create_task(consume())
        await asyncio.wait_for(reached.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ours = {
            left for left in asyncio.all_tasks() - before if "Wire" not in repr(left) and "handle" not in repr(left)
        }
        assert ours == set()
        wire.scripts = [[b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", wire.chunk({"content": "ok"}, "stop"), DONE]]
        assert (await listen(provider, question())).reply.content == "ok"


async def test_leaving_a_stream_closes_the_connection(wire, question, opening, end):
    wire.stream(wire.chunk({"content": "part"}), end=end.OPEN)
    async with opening(ChatProvider(wire.base_url)) as provider:
        parts = provider.stream(question())
        assert await anext(parts) == TextPart("part")
        await parts.aclose()
        await asyncio.wait_for(wire.closed.wait(), 5)


async def test_a_provider_closes_twice_and_serves_again(wire, question, listen):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), DONE)
    provider = ChatProvider(wire.base_url)
    await provider.aclose()
    assert (await listen(provider, question())).reply.content == "ok"
    await provider.aclose()
    await provider.aclose()


@pytest.mark.parametrize("body", [b"", b": nothing\n\n", DONE, b": x\n\n" + DONE])
async def test_a_stream_without_a_word_is_an_error_that_may_be_asked_again(wire, ask, body):
    wire.stream(body)
    error = (await ask()).error
    assert (error.may_retry, error.is_cut) == (True, False)
    assert "empty answer" in error.sentence


async def test_a_web_page_with_status_200_is_one_sentence(wire, ask):
    wire.answer("200 OK", "<!doctype html><html><body><h1>Welcome</h1></body></html>", kind="text/html")
    error = (await ask()).error
    assert error.kind is ErrorKind.FORMAT_ERROR
    assert "web page" in error.sentence
    assert "<" not in error.sentence
    assert "Welcome" not in error.sentence


async def test_a_whole_completion_instead_of_a_stream_is_read(wire, ask):
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"x"}'}}
    message = {"role": "assistant", "content": "ok", "tool_calls": [call, {**call, "id": "b"}]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    wire.answer("200 OK", json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": usage}))
    told = await ask("read")
    assert told.parts == [TextPart("ok")]
    assert [call.id for call in told.reply.calls] == ["a", "b"]
    assert (told.reply.finish, told.reply.usage) == (Finish.TOOL_CALLS, Usage(3, 1))


@pytest.mark.parametrize("body", ['{"error": {"message": "no luck"}}', '{"error": "no luck"}'])
async def test_an_error_instead_of_a_stream_is_told(wire, ask, body):
    wire.answer("200 OK", body)
    assert "no luck" in (await ask()).error.sentence


@pytest.mark.parametrize("body", ["{}", "[]", '{"ok": true}', '{"choices": ['])
async def test_json_that_is_no_completion_is_an_error(wire, ask, body):
    wire.answer("200 OK", body)
    assert (await ask()).error is not None


async def test_a_surrogate_pair_split_over_chunks_is_one_character(wire, ask):
    pieces = (
        b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}',
        b'{"choices":[{"delta":{"content":"\\ude00 \\ud83d!"}}]}',
    )
    wire.stream(*[b"data: " + piece + b"\n\n" for piece in pieces], DONE)
    assert (await ask()).reply.content == "a\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}!"


async def test_cached_tokens_are_not_counted_as_input(wire, ask):
    usage = wire.usage(
        80, 5, prompt_tokens_details={"cached_tokens": 20}, completion_tokens_details={"reasoning_tokens": 3}
    )
    wire.stream(wire.chunk({"content": "ok"}, "stop"), usage, DONE)
    assert (await ask()).reply.usage == Usage(input=60, output=5, cache_read=20, reasoning=3)
