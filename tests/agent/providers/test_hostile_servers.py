"""Servers that send what no server should: whatever they do, it is told, bounded, and never stops the loop for long."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise

import pytest

from agent.providers import calls, responses_items, stream_body
from agent.providers.base import ErrorKind, TextPart
from session.models import ApiMode, Finish

BOM = b"\xef\xbb\xbf"
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


def failing(message: object) -> str:
    return json.dumps({"error": {"message": message}})


async def test_megabytes_of_an_error_do_not_stop_the_loop(wire, ask):
    wire.answer("400 Bad Request", failing("prompt is too " * 400_000))
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.thread_time())  # the work of this thread alone: others share the machine
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    told = await ask()
    ticks.append(time.thread_time())
    ticking.cancel()
    assert told.error.kind is ErrorKind.FORMAT_ERROR
    assert max(after - before for before, after in pairwise(ticks)) < 0.5


async def test_an_error_in_a_list_of_one_is_told(wire, ask):
    wire.answer("400 Bad Request", f"[{failing('API key not valid')}]")
    assert "API key not valid" in (await ask()).error.sentence


@pytest.mark.parametrize("split", [False, True])
async def test_a_web_page_behind_a_byte_order_mark_is_one(wire, ask, split):
    page = BOM + b"<!DOCTYPE html><html>Sign in</html>"
    wire.serve(HEAD, [bytes([byte]) for byte in page] if split else page)
    error = (await ask()).error
    assert (error.kind, error.may_retry) == (ErrorKind.FORMAT_ERROR, False)


@pytest.mark.parametrize("split", [False, True])
async def test_json_behind_a_byte_order_mark_is_read(wire, ask, split):
    answer = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    body = BOM + json.dumps(answer).encode()
    wire.serve(HEAD, [bytes([byte]) for byte in body] if split else body)
    assert (await ask()).reply.content == "hi"


@pytest.mark.parametrize("split", [False, True])
async def test_events_behind_a_byte_order_mark_are_read(wire, ask, split):
    stream = BOM + wire.chunk({"content": "hi"}, "stop")
    wire.serve(HEAD, [bytes([byte]) for byte in stream] if split else stream)
    told = await ask()
    assert (told.reply.content, told.parts) == ("hi", [TextPart("hi")])


@pytest.mark.parametrize("start", [b"data: ", b": ", b"x"])
async def test_an_event_that_never_ends_is_given_up(wire, ask, monkeypatch, start):
    monkeypatch.setattr(stream_body, "LARGEST_EVENT_CHARS", 1_000_000)
    wire.stream(wire.chunk({"content": "so"}), start, *[b"x" * 100_000] * 20, asyncio.Event())
    error = await asyncio.wait_for(ask(), 10)
    assert (error.error.is_cut, error.error.partial.content) == (True, "so")


async def test_a_long_event_that_ends_is_read(wire, ask):
    text = "x" * 3_000_000
    wire.stream(wire.chunk({"content": text}, "stop"))
    assert (await ask()).reply.content == text


async def test_thousands_of_calls_in_one_answer_are_given_up(wire, ask, fragment):
    most = calls.MOST_CALLS
    wire.stream(*[fragment(at, f"c{at}", "read", "{}") for at in range(most + 1)], wire.chunk({}, "tool_calls"))
    error = (await ask("read")).error
    assert error.is_cut


async def test_as_many_calls_as_may_be_are_read(wire, ask, fragment):
    most = calls.MOST_CALLS
    wire.stream([fragment(at, f"c{at}", "read", "{}") for at in range(most)], wire.chunk({}, "tool_calls"))
    assert len((await ask("read")).reply.calls) == most


async def test_thousands_of_items_in_one_response_are_given_up(wire, ask_responses):
    most = responses_items.MOST_ITEMS
    call = {"type": "function_call", "name": "read", "arguments": "{}"}
    items = [
        wire.event("response.output_item.done", output_index=at, item={**call, "id": f"f{at}", "call_id": f"c{at}"})
        for at in range(most + 1)
    ]
    wire.stream(items, wire.event("response.completed", response={"status": "completed"}))
    assert (await ask_responses("read")).error.is_cut


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("Retry-After: 1e308", "365 days"),
        ("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", "365 days"),
        ("Retry-After: 259200", "3 days"),
        ("retry-after-ms: 1e300", "365 days"),
    ],
)
async def test_A32_a_wish_beyond_reason_is_told_in_few_words(wire, ask, header, said):
    wire.answer("429 Too Many Requests", failing("slow down"), header)
    error = (await ask()).error
    assert f"It asks to wait {said}, until " in error.sentence
    assert error.retry_after_s <= 365 * 86_400


async def test_A32_a_date_without_a_zone_is_not_local_time(wire, ask, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        moment = time.strftime("%a, %d %b %Y %H:%M:%S -0000", time.gmtime(time.time() + 40))
        wire.answer("429 Too Many Requests", failing("slow down"), f"Retry-After: {moment}")
        assert 30 < (await ask()).error.retry_after_s < 41
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_page_is_no_responses_server_either(wire, ask_responses, question, on_route):
    wire.serve(HEAD, b"<html>Sign in</html>")
    told = await ask_responses(request=on_route(question(), api_mode=ApiMode.RESPONSES))
    assert "is not a Responses server" in told.error.sentence


async def test_numbers_for_ids_and_places_make_the_same_calls(wire, ask, fragment):
    wire.stream(
        fragment(0, 7, "read", '{"path":'), fragment(0, 7, None, '"a"}'), fragment(10**30, 8, "read", "{}"),
        wire.chunk({}, "tool_calls"),
    )  # fmt: skip
    reply = (await ask("read")).reply
    assert [(call.id, call.arguments) for call in reply.calls] == [("7", '{"path":"a"}'), ("8", "{}")]
    assert reply.finish is Finish.TOOL_CALLS


@pytest.mark.parametrize(
    "usage",
    [
        b'{"prompt_tokens":-5,"completion_tokens":1e300}',
        b'{"prompt_tokens":NaN,"completion_tokens":Infinity,"prompt_tokens_details":[]}',
        b'{"prompt_tokens":"9","completion_tokens":true}',
        b"[1,2]",
    ],
)
async def test_counts_that_cannot_be_are_no_reading(wire, ask, usage):
    wire.stream(wire.chunk({"content": "hi"}, "stop"), b'data: {"choices":[],"usage":' + usage + b"}\n\n")
    reply = (await ask()).reply
    assert (reply.content, reply.usage) == ("hi", None)
