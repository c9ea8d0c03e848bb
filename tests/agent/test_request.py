"""Whatever stands in the store, the next request is a legal conversation."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.images import LARGEST_IMAGE_BYTES, left_out
from agent.request import wire_messages
from session.models import Approval, CallOutcome, CallResult, Message, Role, ToolCall


def row(role: Role, content: str = "", **fields) -> Message:
    return Message(session_id="s", role=role, content=content, created_at=0.0, **fields)


def result(call_id: str) -> Message:
    return row(Role.TOOL, "out", result=CallResult(call_id, "terminal", CallOutcome.OK, Approval.NOT_ASKED))


ids = st.sampled_from(["a", "b", "c", "d"])
arguments = st.sampled_from(
    ["{}", '{"x": 1}', '{"x"', "", "[]", "null", '"str"', '{"x": NaN}', '{"x": -Infinity}', "[" * 9_999]
)
calls = st.lists(ids, max_size=3, unique=True).flatmap(
    lambda names: st.tuples(*(arguments.map(lambda raw, i=i: ToolCall(i, "terminal", raw)) for i in names))
)
rows = st.lists(
    st.one_of(
        st.text(max_size=4).map(lambda text: row(Role.USER, text)),
        st.builds(lambda text, made: row(Role.ASSISTANT, text, calls=made), st.text(max_size=4), calls),
        ids.map(result),
        st.just(row(Role.NOTICE, "note")),
    ),
    max_size=12,
)


@given(rows)
def test_any_rows_make_a_legal_conversation(stored):
    messages = wire_messages(stored, "be brief")
    assert messages[0] == {"role": "system", "content": "be brief"}
    owed: list[str] = []
    for last, message in zip([None, *messages], messages, strict=False):
        if message["role"] == "tool":
            assert owed and message["tool_call_id"] == owed.pop(0)
            continue
        assert not owed, "an unanswered call before the next message"
        assert message["role"] != "user" or last["role"] != "user"
        if message["role"] == "assistant":
            assert message["content"] or message["tool_calls"]
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"], parse_constant=pytest.fail), dict)
                owed.append(call["id"])
    assert not owed


def test_notices_never_reach_the_model():
    messages = wire_messages([row(Role.USER, "hi"), row(Role.NOTICE, "secret")], "p")
    assert "secret" not in json.dumps(messages)


def test_A31_an_empty_answer_is_not_sent_back():
    messages = wire_messages([row(Role.USER, "hi"), row(Role.ASSISTANT), row(Role.USER, "more")], "p")
    assert [message["content"] for message in messages] == ["p", "hi\n\nmore"]


def test_B05_a_call_without_a_result_gets_a_stand_in():
    dangling = row(Role.ASSISTANT, calls=(ToolCall("x", "terminal", "{}"),))
    messages = wire_messages([row(Role.USER, "hi"), dangling, row(Role.USER, "go on")], "p")
    assert messages[3]["tool_call_id"] == "x"
    assert "no result was recorded" in messages[3]["content"]


# --- what stands in the place of content

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}


def asked(*parts: dict, **fields) -> Message:
    return row(Role.USER, "look", parts=json.dumps(parts), **fields)


def huge() -> dict:
    return {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "A" * (LARGEST_IMAGE_BYTES * 4 // 3 + 4)},
    }


def test_a_prompt_with_an_image_goes_out_as_its_parts():
    text = {"type": "text", "text": "look"}
    assert wire_messages([asked(text, PICTURE)], "p")[1]["content"] == [text, PICTURE]


def test_parts_of_another_api_are_sent_in_the_shape_of_this_one():
    image = {"type": "input_image", "image_url": "https://example.org/a.png"}
    (sent,) = wire_messages([asked(image)], "p")[1]["content"]
    assert sent == {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def test_prompts_with_and_without_images_become_one():
    text = {"type": "text", "text": "look"}
    messages = wire_messages([row(Role.USER, "first"), asked(text, PICTURE), row(Role.USER, "last")], "p")
    assert [part.get("text", "image") for part in messages[1]["content"]] == ["first", "look", "image", "last"]


def test_an_image_that_is_too_large_is_left_out_and_the_person_is_told():
    (sent,) = wire_messages([asked(huge())], "p")[1]["content"]
    assert sent["type"] == "text"
    assert "left out" in sent["text"]
    (told,) = left_out([asked(huge()), asked(PICTURE)])
    assert "An image of 21 MB was not sent" in told


def test_what_was_sent_in_the_place_of_content_is_sent_again():
    stored = [
        row(Role.USER, "short", sent="short, with notes"),
        row(Role.ASSISTANT, calls=(ToolCall("a", "terminal", "{}"),)),
        row(Role.TOOL, "all of it", sent="the end of it", result=result("a").result),
        asked({"type": "text", "text": "look"}, PICTURE, sent="look here"),
    ]
    messages = wire_messages(stored, "p")
    assert messages[1]["content"] == "short, with notes"
    assert messages[3]["content"] == "the end of it"
    assert messages[4]["content"] == [{"type": "text", "text": "look here"}, PICTURE]


def test_a_damaged_row_never_goes_out():
    stored = [row(Role.USER, "hi"), row(Role.USER, "[damaged row 2]", is_damaged=True), row(Role.ASSISTANT, "ho")]
    assert [message["content"] for message in wire_messages(stored, "p")] == ["p", "hi", "ho"]
