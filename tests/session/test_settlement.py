"""A turn that did not end by itself is made legal: each call has one result, in order, and nothing is said twice."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session.db import SessionDB
from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    CallResult,
    ExitReason,
    Finish,
    Message,
    Partial,
    Role,
    ToolCall,
)
from session.settlement import Settlement, settle
from session.tables import Tables

Start = Callable[..., "subprocess.Popen[str]"]


def reply(session_id: str, *call_ids: str) -> Message:
    calls = tuple(ToolCall(call_id, "terminal", "{}") for call_id in call_ids)
    return Message(session_id, Role.ASSISTANT, "", 1.0, calls=calls, finish=Finish.TOOL_CALLS)


def answer(session_id: str, call_id: str) -> Message:
    result = CallResult(call_id, "terminal", CallOutcome.OK, Approval.ALLOWED_ONCE, 0)
    return Message(session_id, Role.TOOL, "done", 1.0, result=result)


def request(session_id: str, call_id: str) -> ApprovalRequest:
    return ApprovalRequest(f"{session_id}/{call_id}", session_id, call_id, "terminal", "ls", "it runs a command", 1.0)


def settled(db: SessionDB, session_id: str, *, keep_waiting: bool = False) -> Settlement:
    """Settle once for the result; a second time must then find nothing to do."""
    first, second = (
        db.write(
            lambda t: settle(
                t, session_id, finish=Finish.INTERRUPTED, cause="the app was killed", at=2.0, keep_waiting=keep_waiting
            )
        ).result()
        for _ in range(2)
    )
    assert second == Settlement((), (), first.waiting)
    return first


def results(db: SessionDB, session_id: str) -> list[CallResult]:
    rows = db.read(lambda t: t.messages.all(session_id)).result()
    return [row.result for row in rows if row.result]


def outcomes(db: SessionDB, session_id: str) -> list[tuple[str, CallOutcome, Approval]]:
    return [(result.call_id, result.outcome, result.approval) for result in results(db, session_id)]


KILLED_IN_MID_CALL = """
import os, signal, sys
from pathlib import Path
from session.db import SessionDB
from session.models import *
db = SessionDB.open(Path(sys.argv[1]))
def turn(t):
    t.sessions.create(Session("s", "tui", "", TitleSource.DERIVED, "/", "/", 1.0, 1.0))
    t.turns.begin("s", 1.0)
    t.messages.append(Message("s", Role.USER, "run it", 1.0))
    calls = (ToolCall("a", "terminal", "{}"), ToolCall("b", "terminal", "{}"))
    t.messages.append(Message("s", Role.ASSISTANT, "", 1.0, calls=calls, finish=Finish.TOOL_CALLS))
    t.calls.mark_started("s", "a", Approval.ALLOWED_SESSION, 1.5)
db.write(turn).result()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_E04_a_call_cut_by_a_kill_is_interrupted_once(db_path: Path, run_python: Start) -> None:
    run_python(KILLED_IN_MID_CALL, db_path).wait()
    with closing(SessionDB.open(db_path)) as db:
        settlement = settled(db, "s")
        assert outcomes(db, "s") == [
            ("a", CallOutcome.INTERRUPTED, Approval.ALLOWED_SESSION),
            ("b", CallOutcome.NOT_RUN, Approval.NOT_ASKED),
        ]
        assert "unknown" in settlement.rows[0].content
        assert settlement.rows[1].content == "Not run: the app was killed."
        roles = [row.role for row in db.read(lambda t: t.messages.all("s")).result()]
        assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL]
        assert db.read(lambda t: t.turns.open_since("s")).result() is None


def test_E06_results_that_were_stored_stay_and_the_others_follow(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.messages.append(reply(session_id, "a", "b", "c", "d"))).result()
    for call_id in "abcd":
        db.write(lambda t, c=call_id: t.calls.mark_started(session_id, c, Approval.ALLOWED_ONCE, 1.0)).result()
    for call_id in "ab":
        db.write(lambda t, c=call_id: t.messages.append(answer(session_id, c))).result()
    settled(db, session_id)
    assert [(result.call_id, result.outcome) for result in results(db, session_id)] == [
        ("a", CallOutcome.OK),
        ("b", CallOutcome.OK),
        ("c", CallOutcome.INTERRUPTED),
        ("d", CallOutcome.INTERRUPTED),
    ]


def test_a_partial_answer_becomes_a_row(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.partials.append(session_id, Partial("half an ", "thought", ""), 1.0)).result()
    db.write(lambda t: t.partials.append(session_id, Partial("answer", "", "no"), 1.0)).result()
    (row,) = settled(db, session_id).rows
    assert (row.role, row.content, row.reasoning, row.refusal) == (Role.ASSISTANT, "half an answer", "thought", "no")
    assert row.finish is Finish.INTERRUPTED
    assert db.read(lambda t: t.messages.all(session_id)).result() == [row]


def test_a_waiting_request_is_kept_and_so_is_its_turn(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    db.write(lambda t: t.messages.append(reply(session_id, "a", "b", "c"))).result()
    db.write(lambda t: t.calls.mark_started(session_id, "a", Approval.ALLOWED_ONCE, 1.0)).result()
    db.write(lambda t: t.approvals.open(request(session_id, "b"))).result()
    settlement = settled(db, session_id, keep_waiting=True)
    assert outcomes(db, session_id) == [("a", CallOutcome.INTERRUPTED, Approval.ALLOWED_ONCE)]
    assert settlement.waiting == (request(session_id, "b"),)
    assert db.read(lambda t: t.turns.open_since(session_id)).result() == 1.0


def test_a_request_is_withdrawn_with_the_cause_and_not_in_the_persons_name(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.messages.append(reply(session_id, "a"))).result()
    db.write(lambda t: t.approvals.open(request(session_id, "a"))).result()
    settlement = settled(db, session_id)
    assert settlement.withdrawn == (request(session_id, "a"),)
    assert outcomes(db, session_id) == [("a", CallOutcome.NOT_RUN, Approval.CANCELLED)]
    assert settlement.rows[0].content == "Not run: the app was killed."
    decided = db.read(lambda t: t.approvals.of_call(session_id, "a")).result()
    assert decided == (Approval.CANCELLED, "the app was killed")


def test_a_request_for_a_call_that_is_gone_keeps_nothing_waiting(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    db.write(lambda t: t.messages.append(reply(session_id, "a"))).result()
    db.write(lambda t: t.messages.append(answer(session_id, "a"))).result()
    db.write(lambda t: t.approvals.open(request(session_id, "a"))).result()
    settlement = settled(db, session_id, keep_waiting=True)
    assert settlement.withdrawn == (request(session_id, "a"),)
    assert db.read(lambda t: t.turns.open_since(session_id)).result() is None


@pytest.mark.parametrize(
    ("approval", "reason", "text"),
    [
        (Approval.DENIED, "too risky", "Not run: denied, because too risky."),
        (Approval.DENIED, "", "Not run: the person denied this call."),
        (Approval.TIMED_OUT, "after 60 s", "Not run: nobody answered the request for approval in time."),
        (Approval.ALLOWED_ONCE, "", "Not run: the app was killed."),
    ],
)
def test_a_request_that_was_answered_keeps_its_answer(
    db: SessionDB, session_id: str, approval: Approval, reason: str, text: str
) -> None:
    db.write(lambda t: t.messages.append(reply(session_id, "a"))).result()
    db.write(lambda t: t.approvals.open(request(session_id, "a"))).result()
    db.write(lambda t: t.approvals.settle(f"{session_id}/a", approval, reason, 1.0)).result()
    (row,) = settled(db, session_id).rows
    assert row.result and row.result.approval is approval
    assert row.content == text


def test_an_ended_turn_keeps_its_own_reason(db: SessionDB, session_id: str, db_path: Path) -> None:
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    db.write(lambda t: t.turns.end(session_id, ExitReason.ERROR, 1.5)).result()
    settled(db, session_id)
    with closing(sqlite3.connect(db_path)) as raw:
        assert raw.execute("SELECT ended_at, exit_reason FROM turns").fetchall() == [(1.5, "error")]


# What may happen next in a turn that runs its calls one by one, until the process is killed.
STEPS = st.lists(st.sampled_from(["user", "reply 1", "reply 3", "ask", "allow", "start", "finish"]), max_size=25)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(steps=STEPS, keep_waiting=st.booleans())
def test_whatever_happened_each_call_has_one_result_in_order(
    db: SessionDB, new_session: Callable[..., str], steps: list[str], keep_waiting: bool
) -> None:
    session_id = new_session()
    made: list[str] = []
    for step in steps:
        db.write(lambda t, step=step: take(t, session_id, step, made)).result()
    settlement = settled(db, session_id, keep_waiting=keep_waiting)
    answered = [result.call_id for result in results(db, session_id)]
    assert answered == made[: len(answered)]
    if settlement.waiting:
        waiting = settlement.waiting[0].call_id
        assert made[len(answered)] == waiting
        settled(db, session_id)
    assert [result.call_id for result in results(db, session_id)] == made


def take(tables: Tables, session_id: str, step: str, made: list[str]) -> None:
    """Do a step where a runtime could; skip it elsewhere."""
    pending = [call.id for call in tables.calls.unanswered(session_id)]
    current = pending[0] if pending else ""
    waiting = tables.approvals.waiting(session_id)
    decided = tables.approvals.of_call(session_id, current)
    is_started = current in tables.calls.started(session_id)
    match step.split():
        case ["user"] if not pending:
            tables.messages.append(Message(session_id, Role.USER, "go on", 1.0))
        case ["reply", count] if not pending:
            ids = [f"c{len(made) + n}" for n in range(int(count))]
            made += ids
            tables.messages.append(reply(session_id, *ids))
        case ["ask"] if current and not waiting and not decided and not is_started:
            tables.approvals.open(request(session_id, current))
        case ["allow"] if waiting:
            tables.approvals.settle(waiting[0].id, Approval.ALLOWED_ONCE, "", 1.0)
        case ["start"] if current and not waiting and not is_started:
            tables.calls.mark_started(session_id, current, decided[0] if decided else Approval.NOT_ASKED, 1.0)
        case ["finish"] if is_started:
            tables.messages.append(answer(session_id, current))
        case _:
            pass
