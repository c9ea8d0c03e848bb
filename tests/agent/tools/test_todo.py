"""The list of steps that a model keeps, and what of it a compaction brings back."""

from __future__ import annotations

import json

import pytest

from agent.tools.base import BadArguments
from agent.tools.registry import TOOLS
from agent.tools.todo import MOST_CHARS, MOST_ITEMS, todo_of
from session.models import Approval, CallOutcome, CallResult, Message, Role, ToolCall

STEPS = [
    {"content": "read the code", "status": "done"},
    {"content": "write the test", "status": "in_progress"},
    {"content": "make it pass", "status": "pending"},
]
TEXT = "[x] read the code\n[>] write the test\n[ ] make it pass"


def kept(arguments: object, call_id: str = "a", outcome: CallOutcome = CallOutcome.OK) -> list[Message]:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = ToolCall(call_id, "todo", raw)
    result = CallResult(call_id, "todo", outcome, Approval.NOT_ASKED)
    return [
        Message("s", Role.ASSISTANT, "", 0.0, calls=(call,)),
        Message("s", Role.TOOL, "the list", 0.0, result=result),
    ]


async def test_the_model_gets_its_list_back(desk):
    assert (await desk.call("todo", items=STEPS)).text == f"1 of 3 done\n{TEXT}"
    assert (await desk.call("todo", items=[])).text == "The list is empty."


def test_a_person_reads_the_list(desk):
    assert TOOLS["todo"].shown({"items": STEPS}) == TEXT


async def test_a_step_is_one_line(desk):
    result = await desk.call("todo", items=[{"content": "one\n[x] two", "status": "pending"}])
    assert result.text == "0 of 1 done\n[ ] one [x] two"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, '"items" takes a list'),
        ({"items": "a"}, '"items" takes a list'),
        ({"items": [], "merge": True}, 'no argument "merge"'),
        ({"items": ["a"]}, "Step 1 takes an object"),
        ({"items": [STEPS[0], {"content": "a"}]}, 'Step 2: "status" is missing'),
        ({"items": [{"content": "a", "status": "cancelled"}]}, "pending, in_progress, done"),
        ({"items": [{"content": " ", "status": "done"}]}, "takes 1 to 4,000 characters"),
        ({"items": [{"content": "a" * (MOST_CHARS + 1), "status": "done"}]}, "takes 1 to 4,000 characters"),
        ({"items": [{"content": "a", "status": "done", "id": "1"}]}, 'Step 1: There is no argument "id"'),
        ({"items": [STEPS[0]] * (MOST_ITEMS + 1)}, "at most 256 steps, not 257"),
    ],
)
def test_what_is_no_list_is_refused_with_the_step_that_is_wrong(desk, args, said):
    with pytest.raises(BadArguments) as refused:
        TOOLS["todo"].touches(args, desk.place)
    assert said in str(refused.value)


def test_the_latest_list_counts():
    first = {"items": [{"content": "think", "status": "pending"}]}
    assert todo_of([*kept(first, "a"), *kept({"items": STEPS}, "b")]) == TEXT


def test_a_call_that_did_not_run_changed_nothing():
    rows = [*kept({"items": STEPS}, "a"), *kept({"items": []}, "b", CallOutcome.NOT_RUN)]
    assert todo_of(rows) == TEXT
    assert todo_of(kept({"items": STEPS})[:1]) == ""


@pytest.mark.parametrize("arguments", [{"items": []}, {"items": [STEPS[0]]}, {"todos": STEPS}, "[1]", "{", "[" * 9_999])
def test_nothing_is_open_in(arguments):
    assert todo_of(kept(arguments)) == ""


def test_without_a_list_nothing_is_open():
    assert todo_of([]) == ""
    assert todo_of([Message("s", Role.USER, "todo", 0.0)]) == ""


async def test_a_model_keeps_a_list_unasked(bench, served):
    served.reply({"id": "a", "function": {"name": "todo", "arguments": json.dumps({"items": STEPS})}})
    served.reply(text="I go on.")
    turn = await bench.ask("do it")
    assert [text for _, text in turn.results] == [f"1 of 3 done\n{TEXT}"]
    assert todo_of(bench.rows) == TEXT
