"""Oddities that real servers were recorded with, each made small."""

from __future__ import annotations

import json

import pytest

from agent.providers.base import ErrorKind, ReasoningPart, TextPart
from session.models import Finish, Usage

DONE = b"data: [DONE]\n\n"


def called(reply) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


async def test_calls_run_though_only_done_says_that_they_are_whole(wire, ask, fragment):
    wire.stream(fragment(0, "a", "read", "{}"), DONE)
    reply = (await ask("read")).reply
    assert (called(reply), reply.finish) == ([("read", {})], Finish.TOOL_CALLS)


async def test_usage_behind_a_finish_is_read_where_done_never_comes(wire, ask):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), wire.usage(3, 1))
    assert (await ask()).reply.usage == Usage(3, 1)


async def test_an_error_event_behind_reasoning_fails_the_answer_and_keeps_the_reasoning(wire, ask):
    wire.stream(
        wire.chunk({"reasoning": "hm"}), b"event: error\n" + wire.data({"error": {"message": "bad call", "code": "x"}})
    )
    error = (await ask()).error
    assert (error.partial.reasoning, error.is_cut) == ("hm", False)
    assert "bad call" in error.sentence


async def test_an_error_behind_a_length_cut_is_shown_beside_the_answer(wire, ask):
    wire.stream(
        wire.chunk({"reasoning": "hm"}, "length"),
        wire.chunk({"content": ""}, error={"code": 400, "message": "Token limit reached"}),
        DONE,
    )
    reply = (await ask()).reply
    assert (reply.finish, reply.reasoning) == (Finish.LENGTH, "hm")
    assert "Token limit reached" in reply.warnings[0]


async def test_an_error_behind_thinking_alone_is_an_error(wire, ask):
    wire.stream(wire.chunk({"reasoning": "hm"}, "stop"), wire.data({"error": {"message": "no luck"}}), DONE)
    assert "no luck" in (await ask()).error.sentence


async def test_an_error_in_a_field_of_its_own_ends_the_text_in_mid_sentence(wire, ask):
    wire.stream(
        wire.chunk({"content": "The sea is"}), b'error: {"message": "overloaded", "type": "overloaded_error"}\n\n'
    )
    error = (await ask()).error
    assert (error.kind, error.partial.content) == (ErrorKind.OVERLOADED, "The sea is")


async def test_a_growing_message_beside_each_delta_is_not_the_answer_again(wire, ask):
    texts = ("One", "One two")
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": piece}, "message": {"content": text}, "finish_reason": end}]}
        for piece, text, end in zip(("One", " two"), texts, (None, "stop"), strict=True)
    ]
    wire.stream(*(wire.data(chunk).replace(b"\n", b"\r\n") for chunk in chunks))
    assert (await ask()).reply.content == "One two"


@pytest.mark.parametrize(("call_id", "name"), [("", "-"), (None, None), ("-", ""), ("a", "read")])
async def test_what_a_later_fragment_repeats_or_blanks_changes_no_call(wire, ask, fragment, call_id, name):
    wire.stream(
        fragment(0, "a", "read", '{"path":'), fragment(0, call_id, name, '"x"}'), wire.chunk({}, "tool_calls"), DONE
    )
    (call,) = (await ask("read")).reply.calls
    assert (call.id, call.name, call.arguments) == ("a", "read", '{"path":"x"}')


@pytest.mark.parametrize("nothing", ["", None, "-"])
async def test_a_call_without_arguments_has_none(wire, ask, fragment, nothing):
    wire.stream(fragment(0, "functions.add:0", "read", nothing), wire.chunk({}, "tool_calls"), DONE)
    (call,) = (await ask("read")).reply.calls
    assert (call.id, call.arguments) == ("functions.add:0", "{}")


async def test_reasoning_in_a_field_and_in_details_counts_once_and_a_late_signature_is_no_text(wire, ask):
    detail = {"type": "reasoning.text", "text": "plan", "index": 0}
    wire.stream(
        wire.chunk({"reasoning": "plan", "reasoning_details": [detail]}),
        wire.chunk(
            {"reasoning": None, "reasoning_details": [{"type": "reasoning.text", "signature": "S", "index": 0}]}
        ),
        wire.chunk({"content": "ok"}, "stop"),
        DONE,
    )
    assert (await ask()).parts == [ReasoningPart("plan"), TextPart("ok")]


async def test_reasoning_in_details_alone_is_read(wire, ask):
    details = [{"type": "reasoning.summary", "summary": "su"}, {"type": "reasoning.encrypted", "data": "x"}]
    wire.stream(wire.chunk({"reasoning_details": details}), wire.chunk({"content": "ok"}, "stop"), DONE)
    assert (await ask()).reply.reasoning == "su"


async def test_content_may_change_from_a_list_to_a_string(wire, ask):
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    wire.stream(wire.chunk({"content": thinking}), wire.chunk({"content": "ok"}), wire.chunk({}, "stop"), DONE)
    reply = (await ask()).reply
    assert (reply.reasoning, reply.content) == ("hm", "ok")


async def test_what_a_tool_of_the_server_said_is_not_the_answer(wire, ask):
    executed = [
        {"type": "search", "output": "found", "search_results": {"content": "found", "delta": {"content": "x"}}}
    ]
    wire.stream(wire.chunk({"executed_tools": executed}), wire.chunk({"content": "ok"}, "stop"), DONE)
    reply = (await ask()).reply
    assert (reply.content, reply.calls) == ("ok", ())


async def test_text_between_two_calls_is_kept_untrimmed(wire, ask, fragment):
    wire.stream(
        wire.chunk({"content": "First "}),
        fragment(0, "a", "read", "{}"),
        wire.chunk({"content": " then\n"}),
        fragment(1, "b", "read", "{}"),
        wire.chunk({}, "tool_calls"),
        DONE,
    )
    reply = (await ask("read")).reply
    assert (reply.content, len(reply.calls)) == ("First  then\n", 2)


async def test_of_many_counts_the_last_one_holds(wire, ask):
    first = {"prompt_tokens": 9, "completion_tokens": None}
    last = {"prompt_tokens": 9, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 5}}
    wire.stream(
        wire.chunk({"content": "ok"}, usage=first), wire.chunk({}, "stop", x_groq={"id": "r", "usage": last}), DONE
    )
    assert (await ask()).reply.usage == Usage(input=9, output=2, reasoning=5)


async def test_only_the_first_of_several_choices_is_the_answer(wire, ask):
    chunks = [
        {"choices": [{"index": index, "delta": {"content": text}, "finish_reason": end}]}
        for index, text, end in ((1, "no", None), (0, "yes", None), (1, "no", "length"), (0, "", "stop"))
    ]
    wire.stream(*map(wire.data, chunks), DONE)
    reply = (await ask()).reply
    assert (reply.content, reply.finish) == ("yes", Finish.STOP)
