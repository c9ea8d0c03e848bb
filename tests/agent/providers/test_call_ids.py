"""Calls that another server's model made: their ids as the server takes them, on the copy that is sent and nowhere else."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.providers.call_ids import formed_id, with_call_ids
from agent.providers.compatibility import CallIds, Compatibility

LEGAL = {CallIds.SHORT: r"[A-Za-z0-9_-]{1,40}", CallIds.NINE: r"[A-Za-z0-9]{9}", CallIds.ANY: r"(?s:.*)"}
ODD = (
    "functions.read:0",
    "0",
    "call_" + "x" * 64,
    "call_8f2Qp0",
    "toolu_01A09q90qw90lq917835lq9",
    "aB3dE6gH9",
    "größe",
)


def conversation(*ids: str) -> list[dict]:
    calls = [{"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}} for name in ids]
    results = [{"role": "tool", "tool_call_id": name, "content": f"of {name}"} for name in ids]
    return [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


@given(ids=st.lists(st.text() | st.sampled_from(ODD), unique=True, max_size=30), form=st.sampled_from(CallIds))
def test_every_id_is_legal_and_stays_with_its_result(ids, form):
    messages = conversation(*ids)
    before = json.dumps(messages)
    sent = with_call_ids(messages, form)
    names = [call["id"] for call in sent[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in sent[2:]] == names
    assert all(re.fullmatch(LEGAL[form], name) for name in names)
    assert len(set(names)) == len(ids)
    assert json.dumps(messages) == before


@given(name=st.text(), form=st.sampled_from(CallIds))
def test_a_legal_id_is_left_as_it_is_and_another_becomes_the_same_each_time(name, form):
    formed = formed_id(name, form)
    assert formed_id(name, form) == formed_id(formed, form) == formed
    if re.fullmatch(LEGAL[form], name):
        assert formed == name


@pytest.mark.parametrize("form", CallIds)
async def test_a_chat_server_gets_the_ids_that_it_takes(wire, ask, question, form):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), b"data: [DONE]\n\n")
    request = replace(question("read", messages=conversation(*ODD)), compatibility=Compatibility(call_ids=form))
    await ask(request=request)
    sent = wire.requests[0].json["messages"]
    names = [call["id"] for call in sent[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in sent[2:]] == names
    assert all(re.fullmatch(LEGAL[form], name) for name in names)


async def test_a_responses_server_gets_the_ids_that_it_takes(wire, ask_responses, question):
    wire.stream(wire.event("response.completed", response={"status": "completed", "output": []}))
    request = replace(question(messages=conversation(*ODD)), compatibility=Compatibility(call_ids=CallIds.SHORT))
    await ask_responses(request=request)
    items = wire.requests[0].json["input"]
    called = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert [item["call_id"] for item in items if item["type"] == "function_call_output"] == called
    assert all(re.fullmatch(LEGAL[CallIds.SHORT], name) for name in called)
    assert len(set(called)) == len(ODD)
