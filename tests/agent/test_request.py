"""Whatever stands in the store, the next request is a legal conversation."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
