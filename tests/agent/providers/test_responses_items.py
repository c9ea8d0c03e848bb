"""Which event of a Responses stream belongs to which item: each oddity that real servers have taught."""

from __future__ import annotations

import json
import os
import random

import pytest

from agent.providers.base import ReasoningPart, TextPart
from agent.providers.responses_answer import ResponsesAnswer
from agent.providers.stream_body import StreamBody
from session.models import ApiMode, Route

ROUTE = Route("test", "m", "http://localhost/v1", ApiMode.RESPONSES)
ROUNDS = int(os.environ.get("HERMES_SOAK") or 1) * 60

Event = dict[str, object]


def event(kind: str, **fields: object) -> Event:
    return {"type": f"response.{kind}"} | fields


def on_wire(events: list[Event], named: bool = True) -> bytes:
    names = [f"event: {one['type']}\n" if named else "" for one in events]
    return "".join(f"{name}data: {json.dumps(one)}\n\n" for name, one in zip(names, events, strict=True)).encode()


def read(body: bytes, size_bytes: int = 1_000_000) -> tuple[ResponsesAnswer, list]:
    answer = ResponsesAnswer()
    stream = StreamBody(answer)
    parts = [part for at in range(0, len(body), size_bytes) for part in stream.feed(body[at : at + size_bytes])]
    return answer, parts + stream.end()


def reply_to(*events: Event):
    answer, _ = read(on_wire([*events, event("completed", response={"status": "completed"})]))
    assert answer.is_whole
    return answer.reply(ROUTE, ())


def added(index: int, **item: object) -> Event:
    return event("output_item.added", output_index=index, item=item)


def done(index: int, **item: object) -> Event:
    return event("output_item.done", output_index=index, item=item)


def said(words: str) -> dict[str, object]:
    return {"type": "message", "content": [{"type": "output_text", "text": words}]}


def calls(reply) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in reply.calls]


def test_events_without_a_name_are_known_by_their_type():
    events = [event("output_text.delta", delta="ok"), event("completed", response={})]
    assert read(on_wire(events, named=False))[0].reply(ROUTE, ()).content == "ok"


def test_a_resumed_stream_begins_anywhere():
    assert reply_to(event("queued", response={}), event("output_text.delta", delta="4")).content == "4"


def test_item_ids_that_change_with_each_event_are_joined_by_index():
    reply = reply_to(
        added(0, type="reasoning", id="a1"),
        event("reasoning_summary_text.delta", item_id="a2", output_index=0, summary_index=0, delta="hm"),
        done(0, type="reasoning", id="a3", summary=[{"type": "summary_text", "text": "hm"}]),
        added(1, type="message", id="a4"),
        event("output_text.delta", item_id="a5", output_index=1, delta="He"),
        event("output_text.delta", item_id="a6", output_index=1, delta="llo"),
        event("output_text.done", item_id="a7", output_index=1, text="Hello"),
        done(1, id="a8", **said("Hello")),
        event("output_text.done", item_id="a9", output_index=1, text="Hello"),
        added(2, type="function_call", id="b1", call_id="c1", name="read", arguments=""),
        event("function_call_arguments.delta", item_id="b2", output_index=2, delta='{"a":'),
        event("function_call_arguments.delta", item_id="b3", output_index=2, delta="1}"),
        done(2, type="function_call", id="b4", call_id="c1", name="read", arguments='{"a":1}'),
    )
    assert (reply.reasoning, reply.content, calls(reply)) == ("hm", "Hello", [("c1", "read", '{"a":1}')])


def test_a_finished_call_is_found_by_its_call_id_before_anything_else():
    reply = reply_to(
        added(0, type="function_call", id="f", call_id="c1", name="read", arguments=""),
        added(1, type="function_call", id="f", call_id="c2", name="shell", arguments=""),
        done(0, type="function_call", id="f", call_id="c2", name="shell", arguments='{"b":1}'),
        done(1, type="function_call", id="f", call_id="c1", name="read", arguments='{"a":1}'),
    )
    assert sorted(calls(reply)) == [("c1", "read", '{"a":1}'), ("c2", "shell", '{"b":1}')]


def test_arguments_may_come_only_when_they_are_done():
    reply = reply_to(
        added(0, type="function_call", id="f1", call_id="c1", name="weather", arguments=""),
        event("function_call_arguments.done", item_id="f1", output_index=0, arguments='{"location":"SF"}'),
    )
    assert calls(reply) == [("c1", "weather", '{"location":"SF"}')]


@pytest.mark.parametrize(
    ("given", "arguments"), [({"arguments": '{"b":2}'}, '{"b":2}'), ({"arguments": ""}, "{}"), ({}, '{"a":1}')]
)
def test_done_arguments_replace_what_came_unless_they_are_missing(given, arguments):
    reply = reply_to(
        added(0, type="function_call", id="f1", call_id="c1", name="read", arguments=""),
        event("function_call_arguments.delta", item_id="f1", output_index=0, delta='{"a":1}'),
        event("function_call_arguments.done", item_id="f1", output_index=0, **given),
    )
    assert calls(reply) == [("c1", "read", arguments)]


def test_malformed_arguments_are_passed_on_as_they_are():
    reply = reply_to(
        added(0, type="function_call", id="f1", call_id="c1", name="read"),
        event("function_call_arguments.delta", item_id="f1", delta='{"a": foo'),
    )
    assert calls(reply) == [("c1", "read", '{"a": foo')]


def test_fragments_of_two_calls_go_to_their_own():
    reply = reply_to(
        added(0, type="function_call", id="f1", call_id="c1", name="read"),
        added(1, type="function_call", id="f2", call_id="c2", name="shell"),
        event("function_call_arguments.delta", item_id="f1", output_index=0, delta='{"p":'),
        event("function_call_arguments.delta", item_id="f2", output_index=1, delta='{"c":'),
        event("function_call_arguments.delta", item_id="f1", output_index=0, delta="1}"),
        event("function_call_arguments.delta", item_id="f2", output_index=1, delta="2}"),
    )
    assert calls(reply) == [("c1", "read", '{"p":1}'), ("c2", "shell", '{"c":2}')]


def test_the_index_orders_the_items_where_all_have_one():
    reply = reply_to(
        done(2, type="function_call", call_id="c2", name="b", arguments="{}"),
        done(0, **said("first")),
        done(1, type="function_call", call_id="c1", name="a", arguments="{}"),
    )
    assert [call.id for call in reply.calls] == ["c1", "c2"]


def test_items_stand_as_they_were_announced_where_one_has_no_index():
    first = {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"}
    second = {"type": "function_call", "call_id": "c2", "name": "b", "arguments": "{}"}
    announced = [event("output_item.added", item=item) for item in (first, second)]
    reply = reply_to(*announced, done(0, **second), event("output_item.done", item=first))
    assert [call.id for call in reply.calls] == ["c1", "c2"]


def test_an_index_of_the_content_that_does_not_fit_shows_no_text_twice():
    body = on_wire(
        [
            added(1, type="message", id="m1", content=[]),
            event("output_text.delta", item_id="m1", output_index=1, content_index=1, delta="Sure"),
            event("output_text.done", item_id="m1", output_index=1, content_index=1, text="Sure"),
            done(1, id="m1", **said("Sure")),
            event("completed", response={"output": [said("Sure")]}),
        ]
    )
    answer, parts = read(body)
    assert (parts, answer.reply(ROUTE, ()).content) == ([TextPart("Sure")], "Sure")


def test_what_a_finished_item_holds_beyond_its_deltas_is_said():
    events = [event("output_text.delta", item_id="m1", output_index=0, delta="Su"), done(0, id="m1", **said("Sure"))]
    assert read(on_wire(events))[1] == [TextPart("Su"), TextPart("re")]


def test_each_summary_is_a_paragraph_of_its_own():
    def thought(index: int, words: str, item: int = 0) -> Event:
        return event(
            "reasoning_summary_text.delta", item_id=f"r{item}", output_index=item, summary_index=index, delta=words
        )

    events = [thought(0, "Look "), thought(0, "here."), thought(1, "Then there."), thought(0, "Then act.", item=1)]
    _, parts = read(on_wire(events))
    assert parts == [ReasoningPart(text) for text in ("Look ", "here.", "\n\nThen there.", "\n\nThen act.")]
    assert reply_to(*events).reasoning == "Look here.\n\nThen there.\n\nThen act."


def test_thinking_that_is_no_summary_is_left_as_it_is():
    thoughts = [
        event("reasoning_text.delta", item_id=f"r{i}", output_index=i, delta=text) for i, text in enumerate("ab")
    ]
    assert reply_to(*thoughts).reasoning == "ab"


def test_the_same_thought_in_two_forms_counts_once():
    reply = reply_to(
        event("reasoning_text.delta", item_id="r", output_index=0, delta="plan"),
        event("reasoning_summary_text.delta", item_id="r", output_index=0, summary_index=0, delta="plan"),
        event("reasoning_text.done", item_id="r", output_index=0, text="plan"),
        done(0, type="reasoning", id="r", content=[{"type": "reasoning_text", "text": "plan"}]),
    )
    assert reply.reasoning == "plan"


def test_a_commentary_is_said_before_the_call_and_the_answer_is_its_own_paragraph():
    reply = reply_to(
        done(0, phase="commentary", **said("I look.")),
        done(1, type="function_call", call_id="c1", name="read", arguments="{}"),
        done(2, phase="final_answer", **said("Found.")),
    )
    assert (reply.content, len(reply.calls)) == ("I look.\n\nFound.", 1)


def test_what_the_model_says_to_itself_is_thinking():
    events = [
        added(0, type="message", id="m0", phase="analysis"),
        event("output_text.delta", item_id="m0", output_index=0, delta="hm"),
        done(0, id="m0", phase="analysis", **said("hm")),
        done(1, id="m1", **said("Yes.")),
    ]
    assert read(on_wire(events))[1] == [ReasoningPart("hm"), TextPart("Yes.")]
    reply = reply_to(*events)
    assert (reply.reasoning, reply.content) == ("hm", "Yes.")


def test_an_error_event_and_the_failed_response_are_one_error():
    error = {"code": "insufficient_quota", "message": "You exceeded your current quota."}
    events = [{"type": "error", "error": error}, event("failed", response={"status": "failed", "error": error})]
    answer, _ = read(on_wire(events))
    assert answer.fault is not None
    assert answer.fault.message == error["message"]


def test_what_the_server_runs_itself_is_no_call():
    reply = reply_to(
        done(0, type="web_search_call", id="w1", status="completed", action={"query": "x"}),
        done(1, type="mcp_approval_request", id="p1", name="shorten", arguments="{}"),
    )
    assert (reply.calls, reply.content) == ((), "")


def test_a_built_in_tool_of_the_client_is_a_call_of_its_kind():
    operation = {"type": "create_file", "path": "a", "diff": "+x"}
    reply = reply_to(
        added(0, type="apply_patch_call", id="p", call_id="c1", operation={"type": "create_file"}),
        done(0, type="apply_patch_call", id="p", call_id="c1", operation=operation),
    )
    ((call_id, name, arguments),) = calls(reply)
    assert (call_id, name, json.loads(arguments)) == ("c1", "apply_patch_call", operation)


# --- any legal stream, however it arrives

ANSWER = [
    [
        added(0, type="reasoning", id="r1", summary=[]),
        event("reasoning_summary_text.delta", item_id="r1", output_index=0, summary_index=0, delta="Schön "),
        event("reasoning_summary_text.delta", item_id="r1", output_index=0, summary_index=0, delta="gedacht"),
        done(0, type="reasoning", id="r1", summary=[{"type": "summary_text", "text": "Schön gedacht"}], encrypted_content="gA=="),
    ],
    [
        added(1, type="message", id="m1", content=[]),
        event("output_text.delta", item_id="m1", output_index=1, content_index=0, delta="Ich lese "),
        event("output_text.delta", item_id="m1", output_index=1, content_index=0, delta="\N{GRINNING FACE}…"),
        done(1, id="m1", role="assistant", **said("Ich lese \N{GRINNING FACE}…")),
    ],
    [
        added(2, type="function_call", id="f1", call_id="c1", name="read", arguments=""),
        event("function_call_arguments.delta", item_id="f1", output_index=2, delta='{"path":'),
        event("function_call_arguments.delta", item_id="f1", output_index=2, delta='"ä"}'),
        done(2, type="function_call", id="f1", call_id="c1", name="read", arguments='{"path":"ä"}'),
    ],
    [
        added(3, type="function_call", id="f2", call_id="c2", name="shell", arguments=""),
        event("function_call_arguments.delta", item_id="f2", output_index=3, delta='{"cmd":"ls"}'),
    ],
]  # fmt: skip
END = event("completed", response={"id": "r", "model": "m", "usage": {"input_tokens": 7, "output_tokens": 3}})
WHOLE = on_wire([one for item in ANSWER for one in item] + [END]).replace(
    b"\\ud83d\\ude00", "\N{GRINNING FACE}".encode()
)


def one_shot():
    return read(WHOLE)[0].reply(ROUTE, ())


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size_bytes", [1, 2, 3, 7])
def test_a_stream_in_pieces_of_any_size_is_the_same_answer(size_bytes, line_end):
    answer, parts = read(WHOLE.replace(b"\n", line_end), size_bytes)
    assert answer.reply(ROUTE, ()) == one_shot()
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == one_shot().content


def test_a_stream_cut_at_any_byte_is_cut_or_the_same_answer():
    for at in range(len(WHOLE)):
        answer, parts = read(WHOLE[:at])
        if answer.is_whole:
            assert answer.reply(ROUTE, ()) == one_shot()
            assert at >= len(WHOLE) - len(b"\n\n")
        else:
            assert answer.fault is None
            assert one_shot().content.startswith("".join(part.text for part in parts if isinstance(part, TextPart)))


def test_items_interleaved_in_any_order_are_the_same_answer():
    chance = random.Random(5)
    for _ in range(ROUNDS):
        waiting = [list(item) for item in ANSWER]
        events: list[Event] = []
        while any(waiting):
            events.append(chance.choice([item for item in waiting if item]).pop(0))
        assert read(on_wire([*events, END]))[0].reply(ROUTE, ()) == one_shot()
