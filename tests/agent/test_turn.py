"""The loop of one turn: what is asked, run, stored and told, whatever the model does."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.approvals.inbox import Answer
from agent.events import CallOutput, QueueChanged, RequestOpened, RowStored, TextDelta, TurnEnded
from session.lease import Claim
from session.models import Approval, CallOutcome, ExitReason, Finish, Role


def call_(name: str, id: str = "c1", **arguments: object) -> dict[str, object]:
    return call_raw(name, json.dumps(arguments), id)


def call_raw(name: str, arguments: str, id: str = "c1") -> dict[str, object]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def roles(rows) -> list[Role]:
    return [row.role for row in rows if row.role is not Role.NOTICE]


async def test_an_answer_is_stored_before_it_is_announced(bench, served):
    served.reply(text="Hello.")
    bench.hub.submit(bench.session_id, "hi")
    seen = await bench.until(lambda event: isinstance(event, TurnEnded))
    stored = bench.hub.profile.db.read(lambda tables: tables.messages.all(bench.session_id)).result()
    announced = [event.row for event in seen if isinstance(event, RowStored)]
    assert stored == announced
    assert "".join(event.text for event in seen if isinstance(event, TextDelta)) == "Hello."


async def test_a_call_waits_for_its_answer_and_the_turn_goes_on(bench, served):
    served.reply(call_("terminal", command="echo out | tee out"), text="Looking.")
    served.reply(text="It said out.")
    turn = await bench.ask("run it", Approval.ALLOWED_ONCE)
    [(result, text)] = turn.results
    assert (result.outcome, result.approval, result.exit_code) == (CallOutcome.OK, Approval.ALLOWED_ONCE, 0)
    assert "out" in text
    assert turn.ended.reason is ExitReason.COMPLETED
    sent = served.requests[1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"]


async def test_a_denied_write_never_happens_and_the_model_is_told_so(bench, served, workspace):
    served.reply(call_("write_file", path="a.txt", content="x"))
    served.reply(text="All right.")
    turn = await bench.ask("write it", Approval.DENIED)
    [(result, text)] = turn.results
    assert not (workspace / "a.txt").exists()
    assert (result.outcome, result.approval) == (CallOutcome.NOT_RUN, Approval.DENIED)
    assert "the person denied it" in text


async def test_allowed_for_the_session_is_asked_once_for_the_same_call_only(bench, served):
    for command in ("touch a", "touch a", "touch b"):
        served.reply(call_("terminal", command=command))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_SESSION)
    asked = [event.request.shown for event in turn.events if isinstance(event, RequestOpened)]
    assert asked == ["touch a", "touch b"]
    assert [result.approval for result, _ in turn.results] == [Approval.ALLOWED_SESSION] * 3


async def test_every_call_of_an_answer_has_one_result_in_its_order(bench, served):
    served.reply(
        call_("terminal", id="a", command="echo 1"),
        call_("nothing", id="b"),
        call_("read_file", id="c", path=7),
        call_("terminal", id="d", command="exit 3"),
    )
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    assert [result.call_id for result, _ in turn.results] == ["a", "b", "c", "d"]
    outcomes = [result.outcome for result, _ in turn.results]
    assert outcomes[:3] == [CallOutcome.OK, CallOutcome.NOT_RUN, CallOutcome.NOT_RUN]
    assert turn.results[3][0].exit_code == 3


async def test_A17_cut_arguments_never_write(bench, served, workspace):
    served.reply(call_raw("write_file", '{"path":"a.py","content":"import o'), finish="length")
    served.reply(text="I will write less.")
    turn = await bench.ask("make a.py", Approval.ALLOWED_ONCE)
    [(result, text)] = turn.results
    assert not list(workspace.iterdir())
    assert result.outcome is CallOutcome.NOT_RUN
    assert "cut off by the output limit" in text


async def test_A18_broken_arguments_are_not_sent_back_to_the_server(bench, served):
    served.reply(call_raw("terminal", '{"command": "l'))
    served.reply(text="again")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    assert turn.results[0][0].outcome is CallOutcome.NOT_RUN
    sent = served.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {}


async def test_A10_an_id_the_server_repeats_in_every_answer_stays_unique_in_the_session(bench, served):
    served.reply(call_("terminal", id="dup", command="echo 1"))
    served.reply(call_("terminal", id="dup", command="echo 2"))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    first, second = (result.call_id for result, _ in turn.results)
    assert first != second
    pairs = served.requests[2]["messages"]
    assert [m["tool_call_id"] for m in pairs if m["role"] == "tool"] == [first, second]


async def test_an_interrupt_keeps_the_words_that_came_and_the_next_turn_works(bench, served):
    served.hold('data: {"choices":[{"index":0,"delta":{"content":"Half an"}}]}\n\n')
    bench.hub.submit(bench.session_id, "tell me")
    await bench.until(lambda event: isinstance(event, TextDelta))
    assert bench.hub.interrupt(bench.session_id)
    seen = await bench.until(lambda event: isinstance(event, TurnEnded))
    assert seen[-1].reason is ExitReason.INTERRUPTED
    assert (bench.rows[-1].content, bench.rows[-1].finish) == ("Half an", Finish.INTERRUPTED)
    served.reply(text="Whole.")
    turn = await bench.ask("again")
    assert turn.ended.reason is ExitReason.COMPLETED


async def test_an_interrupt_in_a_command_leaves_one_interrupted_result_and_no_process(bench, served):
    served.reply(call_("terminal", command="touch it; echo begun; sleep 60"))
    bench.hub.submit(bench.session_id, "sleep")
    [opened] = [
        event
        for event in await bench.until(lambda event: isinstance(event, RequestOpened))
        if isinstance(event, RequestOpened)
    ]
    bench.hub.answer(opened.request.id, Answer(Approval.ALLOWED_ONCE))
    await bench.until(lambda event: isinstance(event, CallOutput))
    bench.hub.interrupt(bench.session_id)
    seen = await bench.until(lambda event: isinstance(event, TurnEnded))
    results = [event.row for event in seen if isinstance(event, RowStored) and event.row.result]
    assert [row.result.outcome for row in results] == [CallOutcome.INTERRUPTED]
    assert "begun" in results[0].content


async def test_an_interrupt_while_a_question_is_open_withdraws_it_and_is_not_called_the_persons_no(bench, served):
    served.reply(call_("terminal", command="touch x"))
    bench.hub.submit(bench.session_id, "go")
    await bench.until(lambda event: isinstance(event, RequestOpened))
    bench.hub.interrupt(bench.session_id)
    seen = await bench.until(lambda event: isinstance(event, TurnEnded))
    [row] = [event.row for event in seen if isinstance(event, RowStored) and event.row.result]
    assert (row.result.outcome, row.result.approval) == (CallOutcome.NOT_RUN, Approval.CANCELLED)
    assert "denied" not in row.content
    assert bench.hub.pending() == []


async def test_C28_an_answer_to_a_settled_question_changes_nothing(bench, served):
    served.reply(call_("terminal", command="touch late"))
    bench.hub.submit(bench.session_id, "go")
    events = await bench.until(lambda event: isinstance(event, RequestOpened))
    request = events[-1].request
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert bench.hub.answer(request.id, Answer(Approval.ALLOWED_ONCE)) is False
    assert not (bench.workspace / "late").exists()


@pytest.mark.parametrize("more_config", ["agent: {stream_retries: 0}"])
async def test_A15_a_cut_answer_is_kept_and_called_cut(bench, served):
    served.cut("Half an ans")
    turn = await bench.ask("tell me")
    assert turn.ended.reason is ExitReason.CUT
    kept = [row for row in turn.rows if row.role is Role.ASSISTANT]
    assert [(row.content, row.finish) for row in kept] == [("Half an ans", Finish.CUT)]


async def test_what_is_typed_while_working_waits_and_is_sent_next(bench, served):
    gate = served.hold()
    served.reply(text="second")
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.submit(bench.session_id, "two")
    await bench.until(lambda event: isinstance(event, QueueChanged))
    assert list(bench.hub.runtime(bench.session_id).queue) == ["two"]
    gate.set()
    await bench.until(lambda event: isinstance(event, RowStored) and event.row.content == "second")
    assert roles(bench.rows) == [Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT]


async def test_F16_after_an_interrupt_the_queue_waits_for_the_person(bench, served):
    served.hold()
    bench.hub.submit(bench.session_id, "one")
    await asyncio.wait_for(served.waiting.wait(), 5)
    bench.hub.submit(bench.session_id, "two")
    bench.hub.interrupt(bench.session_id)
    await bench.until(lambda event: isinstance(event, TurnEnded))
    runtime = bench.hub.runtime(bench.session_id)
    assert list(runtime.queue) == ["two"] and not runtime.is_busy
    served.reply(text="now")
    runtime.release_queue()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert bench.rows[-1].content == "now"


async def test_a_prompt_that_may_not_run_here_goes_back_to_the_person(bench, served):
    write, claim = bench.hub.profile.db.write, Claim(bench.session_id, "another turn", "tui")
    assert write(lambda tables: tables.leases.take(claim, 1.0)).result() is None
    turn = await bench.ask("hello")
    assert "Another hermes is working" in turn.ended.error
    runtime = bench.hub.runtime(bench.session_id)
    assert (list(runtime.queue), runtime.queue_is_held) == (["hello"], True)
    write(lambda tables: tables.leases.release(claim))
    served.reply(text="Hi.")
    runtime.release_queue()
    await bench.until(lambda event: isinstance(event, TurnEnded))
    assert bench.rows[-1].content == "Hi."


async def test_C18_a_path_allowed_for_the_session_is_asked_again_once_it_leads_elsewhere(bench, served, tmp_path):
    link = bench.workspace / "link"
    (bench.workspace / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    link.symlink_to("inside")
    for _ in range(2):
        served.reply(call_("write_file", path="link/a.txt", content="x"))
        served.reply(text="done")
    await bench.ask("write", Approval.ALLOWED_SESSION)
    link.unlink()
    link.symlink_to(tmp_path / "outside")
    turn = await bench.ask("write again", Approval.DENIED)
    assert [result.approval for result, _ in turn.results] == [Approval.DENIED]
    assert not list((tmp_path / "outside").iterdir())


async def test_a_command_allowed_for_the_session_does_not_allow_it_in_the_background(bench, served):
    served.reply(call_("terminal", command="touch it"))
    served.reply(call_("terminal", command="touch it", background=True))
    served.reply(text="done")
    turn = await bench.ask("go", Approval.ALLOWED_SESSION)
    assert len([event for event in turn.events if isinstance(event, RequestOpened)]) == 2


@pytest.mark.parametrize("more_config", ["approvals: {timeout: 1}"])
async def test_silence_is_recorded_as_timed_out_and_never_called_the_persons_no(bench, served):
    served.reply(call_("terminal", command="touch made"))
    served.reply(text="All right.")
    turn = await bench.ask("go")
    [(result, text)] = turn.results
    assert (result.outcome, result.approval) == (CallOutcome.NOT_RUN, Approval.TIMED_OUT)
    assert "no answer within 1 s" in text and "denied" not in text
    assert turn.ended.reason is ExitReason.COMPLETED
    assert not (bench.workspace / "made").exists()


@pytest.mark.parametrize("is_attended", [False])
async def test_where_nobody_can_be_asked_it_is_denied_at_once_and_the_model_told_why(bench, served):
    served.reply(call_("terminal", command="touch made"))
    served.reply(text="All right.")
    turn = await bench.ask("go")
    [(result, _)] = turn.results
    assert (result.outcome, result.approval) == (CallOutcome.NOT_RUN, Approval.DENIED)
    told = served.requests[1]["messages"][-1]["content"]
    assert "a headless run has nobody to ask" in told and "the person" not in told
    assert not (bench.workspace / "made").exists()


async def test_A18_arguments_nested_beyond_reading_fail_one_call_and_not_the_session(bench, served):
    served.reply(call_raw("terminal", '{"command": ' + "[" * 100_000 + "]" * 100_000 + "}"))
    served.reply(text="again")
    turn = await bench.ask("go", Approval.ALLOWED_ONCE)
    assert [result.outcome for result, _ in turn.results] == [CallOutcome.NOT_RUN]
    assert turn.ended.reason is ExitReason.COMPLETED
    assert served.requests[1]["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
