"""Reported oddities of Chat Completions streams, over real HTTP."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.providers.base import ErrorKind, ReasoningPart, RefusalPart, TextPart
from agent.providers.watch import Timeouts
from session.models import Finish, Partial, Usage

DONE = b"data: [DONE]\n\n"


def ok(wire) -> tuple[bytes, ...]:
    return wire.chunk({"role": "assistant", "content": "ok"}), wire.chunk({}, "stop"), DONE


def arguments(reply) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


async def test_A01_usage_beside_empty_choices_is_read(wire, ask):
    wire.stream(wire.chunk({"role": "assistant", "content": "Hi"}), wire.chunk({}, "stop"), wire.usage(10, 50), DONE)
    told = await ask()
    assert (told.reply.content, told.reply.usage) == ("Hi", Usage(input=10, output=50))


async def test_A02_a_first_chunk_without_choices_is_ignored(wire, ask):
    wire.stream(wire.data({"id": "", "model": "", "prompt_filter_results": [], "choices": []}), *ok(wire))
    assert (await ask()).reply.content == "ok"


async def test_A03_usage_without_a_choices_key_is_read(wire, ask):
    usage = {"id": "c1", "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}
    wire.stream(wire.chunk({"content": "Hi"}), wire.chunk({}, "stop"), wire.data(usage), DONE)
    assert (await ask()).reply.usage == Usage(input=7, output=2)


async def test_A04_fragments_without_an_index_make_one_call(wire, ask, fragment):
    wire.stream(
        fragment("-", "call_a", "read", '{"path":'),
        fragment("-", "-", "-", '"a.txt"}'),
        wire.chunk({}, "tool_calls"),
        DONE,
    )
    assert arguments((await ask("read")).reply) == [("read", {"path": "a.txt"})]


@pytest.mark.parametrize("is_split", [False, True])
async def test_A05_parallel_calls_at_index_zero_stay_two(wire, ask, fragment, is_split):
    second = (
        (fragment(0, "c2", "read", '{"pa'), fragment(0, "-", "-", 'th":"b"}'))
        if is_split
        else (fragment(0, "c2", "read", '{"path":"b"}'),)
    )
    wire.stream(fragment(0, "c1", "read", '{"path":"a"}'), *second, wire.chunk({}, "tool_calls"), DONE)
    told = await ask("read")
    assert [(call.id, call.arguments) for call in told.reply.calls] == [("c1", '{"path":"a"}'), ("c2", '{"path":"b"}')]


async def test_A05_whole_calls_at_index_zero_without_ids_stay_two(wire, ask, fragment):
    calls = fragment(0, "", "read", '{"path":"a"}'), fragment(0, "", "read", '{"path":"b"}')
    wire.stream(*calls, wire.chunk({}, "tool_calls"), DONE)
    assert arguments((await ask("read")).reply) == [("read", {"path": "a"}), ("read", {"path": "b"})]


async def test_A06_interleaved_fragments_go_to_their_index(wire, ask, fragment):
    wire.stream(
        fragment(0, "a", "read", ""),
        fragment(1, "b", "shell", ""),
        fragment(0, "-", "-", '{"path":'),
        fragment(1, "-", "-", '{"cmd":'),
        fragment(0, "-", "-", '"x"}'),
        fragment(1, "-", "-", '"ls"}'),
        wire.chunk({}, "tool_calls"),
        DONE,
    )
    assert arguments((await ask("read", "shell")).reply) == [("read", {"path": "x"}), ("shell", {"cmd": "ls"})]


async def test_A07_a_name_resent_in_every_chunk_is_not_repeated(wire, ask, fragment):
    pieces = [fragment(0, "a", "read", text) for text in ('{"pa', 'th":"x"', "}")]
    wire.stream(*pieces, wire.chunk({}, "tool_calls"), DONE)
    (call,) = (await ask("read")).reply.calls
    assert (call.id, call.name, call.arguments) == ("a", "read", '{"path":"x"}')


async def test_A08_a_name_split_over_chunks_is_joined(wire, ask, fragment):
    wire.stream(fragment(0, "a", "rea", ""), fragment(0, "-", "d", '{"path":"x"}'), wire.chunk({}, "tool_calls"), DONE)
    assert arguments((await ask("read")).reply) == [("read", {"path": "x"})]


async def test_A09_a_call_without_an_id_gets_one(wire, ask, fragment):
    wire.stream(
        fragment(0, None, "shell", None), fragment(0, None, None, '{"cmd":"ls"}'), wire.chunk({}, "tool_calls"), DONE
    )
    (call,) = (await ask("shell")).reply.calls
    assert (call.name, call.arguments, bool(call.id)) == ("shell", '{"cmd":"ls"}', True)


@pytest.mark.parametrize("call_id", ["", "dup"])
async def test_A10_empty_or_equal_ids_become_unique(wire, ask, fragment, call_id):
    calls = fragment(0, call_id, "read", '{"path":"a"}'), fragment(1, call_id, "read", '{"path":"b"}')
    wire.stream(*calls, wire.chunk({}, "tool_calls"), DONE)
    first, second = (await ask("read")).reply.calls
    assert first.id and second.id and first.id != second.id
    assert (first.arguments, second.arguments) == ('{"path":"a"}', '{"path":"b"}')


async def test_A10_an_id_of_an_earlier_answer_is_not_used_again(wire, ask, question, fragment):
    earlier = [{"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "read", "arguments": "{}"}}]}]
    wire.stream(fragment(0, "0", "read", "{}"), wire.chunk({}, "tool_calls"), DONE)
    (call,) = (await ask(request=question("read", messages=earlier))).reply.calls
    assert call.id not in ("", "0")


async def test_A11_an_empty_id_without_a_function_is_no_call(wire, ask):
    delta = {"content": "done", "tool_calls": [{"index": 0, "id": "", "type": "function"}]}
    wire.stream(wire.chunk(delta, "stop"), DONE)
    reply = (await ask("read")).reply
    assert (reply.content, reply.calls, reply.finish) == ("done", (), Finish.STOP)


async def test_A12_arguments_as_an_object_are_kept_as_text_of_json(wire, ask, fragment):
    wire.stream(fragment(0, "a", "write", {"path": "a.txt", "content": "x"}), wire.chunk({}, "tool_calls"), DONE)
    assert arguments((await ask("write")).reply) == [("write", {"path": "a.txt", "content": "x"})]


async def test_A14_calls_run_whatever_the_finish_says(wire, ask, fragment):
    wire.stream(fragment(0, "a", "read", '{"path":"x"}'), wire.chunk({}, "stop"), DONE)
    reply = (await ask("read")).reply
    assert (len(reply.calls), reply.finish) == (1, Finish.TOOL_CALLS)


async def test_A15_a_stream_that_just_ends_is_cut(wire, ask):
    wire.stream(wire.chunk({"content": "Half an ans"}))
    error = (await ask()).error
    assert (error.is_cut, error.may_retry, error.partial.content) == (True, True, "Half an ans")


async def test_A15_a_call_of_a_cut_stream_never_reaches_anyone(wire, ask, fragment):
    wire.stream(fragment(0, "a", "read", '{"path":"x"}'))
    assert (await ask("read")).error.is_cut


async def test_A15_a_finish_without_done_is_complete(wire, ask):
    wire.stream(wire.chunk({"content": "all"}, "stop"))
    assert (await ask()).reply.content == "all"


async def test_A16_done_without_a_finish_is_complete(wire, ask):
    wire.stream(wire.chunk({"content": "full "}), wire.chunk({"content": "text"}), DONE)
    reply = (await ask()).reply
    assert (reply.content, reply.finish) == ("full text", Finish.STOP)


async def test_A17_a_length_cut_says_so_and_keeps_the_broken_arguments_as_they_are(wire, ask, fragment):
    wire.stream(fragment(0, "a", "write", '{"path":"a.py","content":"import o'), wire.chunk({}, "length"), DONE)
    reply = (await ask("write")).reply
    assert (reply.finish, reply.calls[0].arguments) == (Finish.LENGTH, '{"path":"a.py","content":"import o')


async def test_A20_an_error_in_the_first_frame_fails_the_request(wire, ask):
    wire.stream(wire.data({"error": {"message": "quota exceeded", "code": 429}}), DONE)
    told = await ask()
    assert "quota exceeded" in told.error.sentence
    assert not told.error.is_cut


@pytest.mark.parametrize("error", [{"message": "no luck"}, "no luck"])
async def test_A20_an_error_of_any_shape_is_told(wire, ask, error):
    wire.stream(wire.data({"error": error}))
    assert "no luck" in (await ask()).error.sentence


async def test_A21_text_before_an_error_is_kept(wire, ask):
    fault = {"id": "c1", "choices": [], "error": {"message": "upstream 502", "code": "server_error"}}
    wire.stream(wire.chunk({"content": "Let me"}), wire.data(fault))
    error = (await ask()).error
    assert (error.partial, error.is_cut, error.kind) == (Partial("Let me"), False, ErrorKind.SERVER_ERROR)
    assert "upstream 502" in error.sentence


async def test_A21_an_error_behind_a_finished_answer_takes_nothing_away(wire, ask):
    wire.stream(wire.chunk({"content": "all"}, "stop"), wire.data({"error": {"message": "late"}}))
    assert (await ask()).reply.content == "all"


async def test_A20_an_error_beside_a_finish_is_no_empty_answer(wire, ask):
    wire.stream(wire.chunk({}, "stop", error={"message": "no luck"}), DONE)
    assert "no luck" in (await ask()).error.sentence


async def test_A21_an_error_beside_the_finish_error_keeps_the_text(wire, ask):
    wire.stream(wire.chunk({"content": "Let me"}), wire.chunk({}, "error", error={"message": "no luck"}), DONE)
    error = (await ask()).error
    assert (error.partial.content, error.is_cut) == ("Let me", False)
    assert "no luck" in error.sentence


async def test_A21_a_finish_that_says_error_is_no_finish(wire, ask):
    wire.stream(wire.chunk({"content": "Let me"}), wire.chunk({}, "error"), DONE)
    error = (await ask()).error
    assert (error.partial.content, error.is_cut) == ("Let me", True)


async def test_A22_an_error_event_about_the_context_is_an_overflow(wire, ask):
    message = (
        "Input does not fit in context length. The input has 31430 tokens, but the context length only supports "
        "30000 tokens."
    )
    wire.stream(b"event: error\n" + wire.data({"error": {"message": message}}))
    error = (await ask()).error
    assert error.kind is ErrorKind.CONTEXT_OVERFLOW
    assert "30000" in error.sentence


async def test_A23_comments_are_neither_text_nor_poison(wire, ask):
    first, finish, done = ok(wire)
    wire.stream(*[b": OPENROUTER PROCESSING\n\n"] * 3, first, finish, b": x-cost=0.1\n", done)
    told = await ask()
    assert told.reply.content == "ok"
    assert told.parts == [TextPart("ok")]


async def test_A24_crlf_and_a_split_character_arrive_whole(wire, ask):
    body = b"".join(
        (
            b'data:{"choices":[{"index":0,"delta":{"content":"ok \xe2\x9c',
            b'\x93"}}]}\r\n\r\n',
            b'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\n',
            b"data:[DONE]\r\n\r\n",
        )
    )
    wire.stream(*[body[at : at + 1] for at in range(len(body))])
    assert (await ask()).reply.content == "ok ✓"


async def test_A26_the_same_thought_under_two_names_counts_once(wire, ask):
    wire.stream(wire.chunk({"reasoning": "plan", "reasoning_content": "plan"}), *ok(wire))
    told = await ask()
    assert told.parts == [ReasoningPart("plan"), TextPart("ok")]
    assert (told.reply.reasoning, told.reply.content) == ("plan", "ok")


async def test_A29_content_as_a_list_of_parts_is_read(wire, ask):
    thinking = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Okay"}]}]}
    wire.stream(wire.chunk(thinking), wire.chunk({"content": [{"type": "text", "text": "391"}]}, "stop"), DONE)
    reply = (await ask()).reply
    assert (reply.reasoning, reply.content) == ("Okay", "391")


async def test_A31_an_answer_without_a_word_is_still_an_answer(wire, ask):
    wire.stream(wire.chunk({"role": "assistant", "content": ""}, "stop"), DONE)
    reply = (await ask()).reply
    assert (reply.content, reply.finish) == ("", Finish.STOP)


async def test_A35_a_stream_without_a_content_type_is_read_from_one_request(wire, ask):
    wire.serve(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", *ok(wire))
    assert (await ask()).reply.content == "ok"
    assert len(wire.requests) == 1


async def test_A36_keep_alives_keep_a_stream_alive(wire, ask):
    wire.stream(*[b": ping\n\n", 0.25] * 6, *ok(wire))
    assert (await ask(limits=lambda: Timeouts(idle_s=1.0))).reply.content == "ok"


async def test_A36_silence_ends_a_stream(wire, ask):
    wire.stream(wire.chunk({"content": "part"}), asyncio.Event())
    error = (await ask(limits=lambda: Timeouts(idle_s=0.2))).error
    assert (error.kind, error.is_cut, error.partial.content) == (ErrorKind.TIMEOUT, True, "part")
    assert "0.2 s" in error.sentence


async def test_A40_null_and_empty_deltas_are_harmless(wire, ask):
    nulls = {"role": None, "content": "It", "tool_calls": None, "reasoning_content": None}
    wire.stream(
        wire.chunk(nulls, usage=None, created=0, id=""),
        wire.chunk({}, usage={}),
        wire.chunk(None, usage=None),
        wire.chunk({}, "stop", usage={"prompt_tokens": 0, "completion_tokens": 0}),
        DONE,
    )
    told = await ask()
    assert (told.reply.content, told.reply.usage) == ("It", None)


async def test_A40_a_later_empty_usage_does_not_undo_a_reading(wire, ask):
    wire.stream(wire.chunk({"content": "It"}, usage={"prompt_tokens": 5, "completion_tokens": 1}), *ok(wire)[1:2])
    wire.scripts[0].insert(2, wire.chunk({}, usage={}))
    assert (await ask()).reply.usage == Usage(input=5, output=1)


async def test_A41_a_refusal_is_its_own_kind_of_answer(wire, ask):
    wire.stream(wire.chunk({"refusal": "I can't "}), wire.chunk({"refusal": "help."}, "stop"), DONE)
    told = await ask()
    assert told.parts == [RefusalPart("I can't "), RefusalPart("help.")]
    assert (told.reply.refusal, told.reply.finish) == ("I can't help.", Finish.CONTENT_FILTER)


async def test_A41_a_content_filter_without_text_is_told(wire, ask):
    wire.stream(wire.chunk({}, "content_filter"), DONE)
    assert (await ask()).reply.finish is Finish.CONTENT_FILTER
