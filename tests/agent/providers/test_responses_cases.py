"""Reported oddities of Responses streams, over real HTTP."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.providers.base import ErrorKind, ReasoningPart, RefusalPart, TextPart
from agent.providers.watch import Timeouts
from session.models import Finish, Partial, Usage

USAGE = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}


@pytest.fixture
def text(wire):
    """A delta of the answer's text."""
    return lambda words, **fields: wire.event("response.output_text.delta", delta=words, **fields)


@pytest.fixture
def ended(wire):
    """The end of a response: "completed" unless said otherwise."""

    def make(status: str = "completed", **response: object) -> bytes:
        return wire.event(f"response.{status}", response={"id": "r1", "status": status, "output": []} | response)

    return make


@pytest.fixture
def item(wire):
    """An item that is announced ("added") or finished ("done")."""

    def make(step: str, index: int | None, **fields: object) -> bytes:
        place = {} if index is None else {"output_index": index}
        return wire.event(f"response.output_item.{step}", item=fields, **place)

    return make


def message(words: str, **fields: object) -> dict:
    parts = [{"type": "output_text", "text": words, "annotations": []}] if words else []
    return {"type": "message", "role": "assistant", "content": parts} | fields


def call(call_id: str, name: str = "read", arguments: str = '{"path":"x"}', **fields: object) -> dict:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments} | fields


def ran(reply) -> list[tuple[str, str, object]]:
    return [(call.id, call.name, json.loads(call.arguments)) for call in reply.calls]


async def test_B01_an_answer_that_ran_out_of_room_is_kept_and_says_so(wire, ask_responses, text, ended):
    details = {"reason": "max_output_tokens"}
    wire.stream(text("Half "), text("an ans"), ended("incomplete", incomplete_details=details, usage=USAGE))
    told = await ask_responses()
    assert (told.reply.content, told.reply.finish, told.reply.usage) == ("Half an ans", Finish.LENGTH, Usage(9, 4))


async def test_B01_an_answer_that_was_filtered_says_so(wire, ask_responses, text, ended):
    wire.stream(text("Half"), ended("incomplete", incomplete_details={"reason": "content_filter"}))
    reply = (await ask_responses()).reply
    assert (reply.content, reply.finish) == ("Half", Finish.CONTENT_FILTER)


async def test_B01_completed_with_the_status_incomplete_is_incomplete(wire, ask_responses, text):
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    wire.stream(text("Half"), wire.event("response.completed", response=response))
    assert (await ask_responses()).reply.finish is Finish.LENGTH


async def test_B01_an_end_for_no_reason_of_an_answer_is_cut(wire, ask_responses, text, ended):
    wire.stream(text("Half"), ended("incomplete", incomplete_details=None))
    error = (await ask_responses()).error
    assert (error.is_cut, error.partial) == (True, Partial("Half"))


async def test_B02_a_stream_that_closes_early_is_cut(wire, ask_responses, text):
    wire.stream(wire.event("response.created", response={"id": "r1"}), text("Half an "), text("ans"))
    error = (await ask_responses()).error
    assert (error.is_cut, error.may_retry, error.partial.content) == (True, True, "Half an ans")


async def test_B02_a_reset_in_mid_answer_is_cut(wire, ask_responses, text, end):
    wire.stream(text("part"), 0.05, end=end.RST)
    error = (await ask_responses()).error
    assert (error.is_cut, error.partial.content) == (True, "part")


async def test_B02_no_call_of_a_cut_stream_reaches_anyone(wire, ask_responses, item):
    wire.stream(item("added", 0, **call("c1")), item("done", 0, **call("c1")))
    assert (await ask_responses("read")).error.is_cut


async def test_B02_done_without_a_terminal_event_is_complete(wire, ask_responses, item):
    wire.stream(item("done", 0, **message("all")), item("done", 1, **call("c1")), b"data: [DONE]\n\n")
    reply = (await ask_responses("read")).reply
    assert (reply.content, len(reply.calls)) == ("all", 1)


async def test_B02_done_behind_an_open_call_is_cut(wire, ask_responses, text, item):
    wire.stream(text("all"), item("added", 1, **call("c1")), b"data: [DONE]\n\n")
    assert (await ask_responses("read")).error.is_cut


async def test_B08_text_is_kept_though_the_end_repeats_nothing_of_it(wire, ask_responses, text):
    wire.stream(
        text("hel"), text("lo"), wire.event("response.completed", response={"status": "completed", "output": []})
    )
    told = await ask_responses()
    assert told.parts == [TextPart("hel"), TextPart("lo")]
    assert (told.reply.content, told.reply.id, told.reply.finish) == ("hello", "", Finish.STOP)


@pytest.mark.parametrize("output", [None, [], "hello"])
async def test_B08_an_output_of_any_shape_takes_nothing_away(wire, ask_responses, text, ended, output):
    wire.stream(text("hello"), ended(output=output))
    assert (await ask_responses()).reply.content == "hello"


async def test_B08_an_output_counts_where_nothing_was_streamed(wire, ask_responses, ended):
    output = [message("hello", id="m1"), call("c1", id="f1")]
    wire.stream(ended(output=output, usage=USAGE))
    told = await ask_responses("read")
    assert told.parts == [TextPart("hello")]
    assert (told.reply.content, ran(told.reply)) == ("hello", [("c1", "read", {"path": "x"})])


async def test_B08_calls_that_the_end_repeats_under_other_ids_run_once(wire, ask_responses, item, ended):
    wire.stream(item("done", 0, **call("c1", id="f1")), ended(output=[call("c9", id="f9")]))
    assert ran((await ask_responses("read")).reply) == [("c1", "read", {"path": "x"})]


async def test_B09_a_call_and_a_text_at_the_same_index_are_both_kept(wire, ask_responses, text, item, ended):
    wire.stream(
        item("added", 0, **call("c1", arguments="", id="f1")),
        wire.event("response.function_call_arguments.done", item_id="f1", output_index=0, arguments='{"path":"x"}'),
        item("done", 0, **call("c1", id="f1")),
        item("added", 0, **message("", id="m1")),
        text("Reading.", item_id="m1", output_index=0),
        item("done", 0, **message("Reading.", id="m1")),
        ended(),
    )
    reply = (await ask_responses("read")).reply
    assert (reply.content, ran(reply)) == ("Reading.", [("c1", "read", {"path": "x"})])


async def test_B09_two_calls_at_the_same_index_stay_two(wire, ask_responses, item, ended):
    pairs = [("c1", "f1", "a"), ("c2", "f2", "b")]
    events = []
    for call_id, item_id, path in pairs:
        arguments = json.dumps({"path": path})
        events += [
            item("added", 0, **call(call_id, arguments="", id=item_id)),
            wire.event("response.function_call_arguments.delta", item_id=item_id, output_index=0, delta=arguments),
        ]
    events += [item("done", 0, **call(one, arguments=json.dumps({"path": path}), id=name)) for one, name, path in pairs]
    wire.stream(*events, ended())
    assert ran((await ask_responses("read")).reply) == [("c1", "read", {"path": "a"}), ("c2", "read", {"path": "b"})]


async def test_B10_a_call_written_as_text_is_shown_with_a_hint_and_never_runs(wire, ask_responses, text, ended):
    leaked = "<tool_call><function=read><parameter=path>x</parameter></function></tool_call>"
    wire.stream(text(leaked), ended())
    reply = (await ask_responses("read")).reply
    assert (reply.content, reply.calls) == (leaked, ())
    assert "tool parser" in " ".join(reply.warnings)


async def test_B11_a_failed_response_is_an_error_with_the_servers_words(wire, ask_responses, text, ended):
    wire.stream(text("Let me"), ended("failed", error={"code": "server_error", "message": "boom"}))
    error = (await ask_responses()).error
    assert (error.kind, error.may_retry, error.is_cut) == (ErrorKind.SERVER_ERROR, True, False)
    assert (error.partial.content, "boom" in error.sentence) == ("Let me", True)


async def test_B11_an_error_event_is_an_error(wire, ask_responses):
    wire.stream(wire.event("error", code="rate_limit_exceeded", message="slow"))
    error = (await ask_responses()).error
    assert (error.kind, error.may_retry, "slow" in error.sentence) == (ErrorKind.RATE_LIMIT, True, True)


async def test_B11_an_error_that_cannot_pass_is_not_asked_again(wire, ask_responses, ended):
    wire.stream(ended("failed", error={"code": "invalid_prompt", "message": "not like this"}))
    assert not (await ask_responses()).error.may_retry


async def test_B11_an_error_behind_a_completed_response_takes_nothing_away(wire, ask_responses, text, ended):
    wire.stream(text("all"), ended(), wire.event("error", message="late"))
    assert (await ask_responses()).reply.content == "all"


async def test_B12_thinking_alone_is_no_answer(wire, ask_responses, item, ended):
    thought = wire.event("response.reasoning_text.delta", delta="hm")
    wire.stream(thought, item("done", 1, **message("")), ended())
    reply = (await ask_responses()).reply
    assert (reply.content, reply.refusal, reply.calls, reply.reasoning) == ("", "", (), "hm")
    assert reply.finish is Finish.STOP


async def test_A10_an_id_of_an_earlier_answer_is_not_used_again(wire, ask_responses, question, item, ended):
    earlier = [{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "read", "arguments": "{}"}}]}]
    wire.stream(item("done", 0, **call("c1")), item("done", 1, **call("")), ended())
    ids = [call.id for call in (await ask_responses(request=question("read", messages=earlier))).reply.calls]
    assert len({*ids, "c1", ""}) == 4


async def test_A12_arguments_as_an_object_are_kept_as_text_of_json(wire, ask_responses, item, ended):
    wire.stream(item("done", 0, **call("c1") | {"arguments": {"path": "x"}}), ended())
    assert ran((await ask_responses("read")).reply) == [("c1", "read", {"path": "x"})]


async def test_A17_a_call_that_was_cut_keeps_its_broken_arguments_and_says_so(wire, ask_responses, item, ended):
    cut = '{"path":"a.py","content":"import o'
    wire.stream(
        item("added", 0, **call("c1", "write", "")),
        item("done", 0, **call("c1", "write", cut, status="incomplete")),
        ended("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )
    reply = (await ask_responses("write")).reply
    assert (reply.finish, [call.arguments for call in reply.calls]) == (Finish.LENGTH, [cut])


async def test_A17_a_call_that_was_cut_before_its_arguments_never_runs(wire, ask_responses, item, ended):
    wire.stream(
        item("done", 0, **call("c1", "write", "", status="incomplete")),
        item("added", 1, **call("c2", "write", "{}")),
        ended("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )
    assert (await ask_responses("write")).reply.calls == ()


async def test_A20_an_error_in_the_first_frame_fails_the_request(wire, ask_responses):
    wire.stream(wire.data({"error": {"message": "quota exceeded", "code": 429}}))
    assert "quota exceeded" in (await ask_responses()).error.sentence


async def test_A33_an_error_page_is_one_sentence(wire, ask_responses):
    wire.answer("413 Request Entity Too Large", "<html><h1>413</h1></html>", kind="text/html")
    error = (await ask_responses()).error
    assert (error.kind, "<" in error.sentence) == (ErrorKind.PAYLOAD_TOO_LARGE, False)


async def test_A35_a_stream_without_a_content_type_is_read_from_one_request(wire, ask_responses, text, ended):
    wire.serve(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", text("ok"), ended())
    assert (await ask_responses()).reply.content == "ok"
    assert [request.path for request in wire.requests] == ["/v1/responses"]


async def test_A36_keep_alives_of_any_kind_keep_a_stream_alive(wire, ask_responses, text, ended):
    alive = [b": ping\n\n", wire.event("keepalive"), b"data: \n\n", wire.event("response.of_tomorrow", delta="?")]
    steps = [step for one in alive * 2 for step in (one, 0.15)]
    wire.stream(*steps, text("ok"), ended())
    assert (await ask_responses(limits=lambda: Timeouts(idle_s=1.0))).reply.content == "ok"


async def test_A36_silence_ends_a_stream(wire, ask_responses, text):
    wire.stream(text("part"), asyncio.Event())
    error = (await ask_responses(limits=lambda: Timeouts(idle_s=0.2))).error
    assert (error.kind, error.is_cut, error.partial.content) == (ErrorKind.TIMEOUT, True, "part")


async def test_A40_nulls_and_odd_types_are_harmless(wire, ask_responses, text, ended):
    wire.stream(
        wire.event("response.output_item.added", item=None, output_index=None),
        wire.event("response.output_text.delta", delta=None, item_id=None, output_index=None, content_index={}),
        text("It", item_id=7, content_index=[0]),
        wire.event("response.function_call_arguments.delta", delta=None),
        ended(usage=None, model=None),
    )
    told = await ask_responses()
    assert (told.reply.content, told.reply.calls, told.reply.usage) == ("It", (), None)


async def test_A41_a_refusal_alone_ends_the_turn(wire, ask_responses, ended):
    wire.stream(
        *[
            wire.event("response.refusal.delta", item_id="m", content_index=0, delta=words)
            for words in ("I can't ", "help.")
        ],
        wire.event("response.refusal.done", item_id="m", content_index=0, refusal="I can't help."),
        ended(),
    )
    told = await ask_responses()
    assert told.parts == [RefusalPart("I can't "), RefusalPart("help.")]
    assert (told.reply.refusal, told.reply.content, told.reply.finish) == ("I can't help.", "", Finish.CONTENT_FILTER)


async def test_A41_a_refusal_in_a_finished_item_is_one(wire, ask_responses, item, ended):
    refused = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    wire.stream(item("done", 0, **refused), ended())
    told = await ask_responses()
    assert (told.parts, told.reply.finish) == ([RefusalPart("No.")], Finish.CONTENT_FILTER)


async def test_A41_a_refusal_beside_text_is_a_normal_turn(wire, ask_responses, text, ended):
    wire.stream(text("Here is half."), wire.event("response.refusal.delta", delta="Not the rest."), ended())
    reply = (await ask_responses()).reply
    assert (reply.content, reply.refusal, reply.finish) == ("Here is half.", "Not the rest.", Finish.STOP)


async def test_the_end_ends_the_answer_though_the_socket_stays_open(wire, ask_responses, text, ended, end):
    wire.stream(text("ok"), ended(), end=end.OPEN)
    told = await asyncio.wait_for(ask_responses(limits=lambda: Timeouts(drain_s=60)), 20)
    assert told.reply.content == "ok"


@pytest.mark.parametrize("drain_s", [0.0, 2.0])
async def test_a_reset_behind_the_end_takes_nothing_away(wire, ask_responses, text, ended, end, drain_s):
    wire.stream(text("ok"), ended(usage=USAGE), end=end.RST)
    reply = (await ask_responses(limits=lambda: Timeouts(drain_s=drain_s))).reply
    assert (reply.content, reply.usage) == ("ok", Usage(9, 4))


async def test_one_connection_serves_the_next_request_too(wire, question, listen, opening, text, ended, end):
    from agent.providers.responses import ResponsesProvider

    pieces = (text("ok"), ended())
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    wire.serve(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed, end.NEXT)
    async with opening(ResponsesProvider(wire.base_url)) as provider:
        for _ in range(2):
            assert (await listen(provider, question())).reply.content == "ok"
        assert (len(wire.requests), wire.open_sockets) == (2, 1)


async def test_leaving_a_stream_closes_the_connection(wire, question, opening, text, end):
    from agent.providers.responses import ResponsesProvider

    wire.stream(text("part"), end=end.OPEN)
    async with opening(ResponsesProvider(wire.base_url)) as provider:
        parts = provider.stream(question())
        assert await anext(parts) == TextPart("part")
        await parts.aclose()
        await asyncio.wait_for(wire.closed.wait(), 5)


@pytest.mark.parametrize("body", [b"", b": nothing\n\n", b"data: [DONE]\n\n", b'data: {"type":"keepalive"}\n\n'])
async def test_a_stream_without_a_word_is_an_error_that_may_be_asked_again(wire, ask_responses, body):
    wire.stream(body)
    error = (await ask_responses()).error
    assert (error.may_retry, error.is_cut, "empty answer" in error.sentence) == (True, False, True)


async def test_a_whole_response_instead_of_a_stream_is_read(wire, ask_responses):
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    body = {"object": "response", "status": "completed", "output": [thought, message("ok"), call("c1")], "usage": USAGE}
    wire.answer("200 OK", json.dumps(body))
    told = await ask_responses("read")
    assert told.parts == [ReasoningPart("hm"), TextPart("ok")]
    assert (ran(told.reply), told.reply.usage) == ([("c1", "read", {"path": "x"})], Usage(9, 4))


@pytest.mark.parametrize(
    "body", ['{"error": {"message": "no luck"}}', '{"status": "failed", "output": [], "error": "no luck"}']
)
async def test_an_error_instead_of_a_stream_is_told(wire, ask_responses, body):
    wire.answer("200 OK", body)
    assert "no luck" in (await ask_responses()).error.sentence


@pytest.mark.parametrize(
    "body", ["{}", "[]", '{"ok": true}', '{"output": [', '{"status": "in_progress", "output": []}']
)
async def test_json_that_is_no_finished_response_is_an_error(wire, ask_responses, body):
    wire.answer("200 OK", body)
    assert (await ask_responses()).error is not None


async def test_a_line_that_is_no_json_breaks_the_answer(wire, ask_responses, text, ended):
    wire.stream(text("part"), b"data: {oops\n\n", text("x"), ended())
    error = (await ask_responses()).error
    assert (error.is_cut, error.partial.content) == (True, "part")


async def test_a_surrogate_pair_split_over_deltas_is_one_character(wire, ask_responses, ended):
    pieces = (
        b'{"type":"response.output_text.delta","delta":"a\\ud83d"}',
        b'{"type":"response.output_text.delta","delta":"\\ude00"}',
    )
    wire.stream(*[b"data: " + piece + b"\n\n" for piece in pieces], ended())
    assert (await ask_responses()).reply.content == "a\N{GRINNING FACE}"


async def test_cached_tokens_are_not_counted_as_input(wire, ask_responses, text, ended):
    usage = {
        "input_tokens": 80,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    wire.stream(text("ok"), ended(usage=usage))
    assert (await ask_responses()).reply.usage == Usage(input=60, output=5, cache_read=20, reasoning=3)
