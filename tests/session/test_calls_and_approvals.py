"""The marks on a call: made, started, asked about, decided."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from session.db import SessionDB
from session.models import Approval, ApprovalRequest, ExitReason, Message, Role, ToolCall


def request(session_id: str, id_: str, call_id: str = "c") -> ApprovalRequest:
    return ApprovalRequest(id_, session_id, call_id, "terminal", "rm -r x\n\u202e", "it runs a command", 1.25)


def test_a_call_starts_once(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.calls.mark_started(session_id, "c", Approval.ALLOWED_ALWAYS, 1.0)).result()
    with pytest.raises(sqlite3.IntegrityError):
        db.write(lambda t: t.calls.mark_started(session_id, "c", Approval.NOT_ASKED, 2.0)).result()
    assert db.read(lambda t: t.calls.started(session_id)).result() == {"c": Approval.ALLOWED_ALWAYS}


def test_used_ids_are_those_of_all_assistant_rows_of_one_session(
    db: SessionDB, new_session: Callable[..., str]
) -> None:
    one, other = new_session(), new_session()
    for session_id, ids in ((one, "ab"), (one, "c"), (other, "x")):
        calls = tuple(ToolCall(id_, "terminal", "{}") for id_ in ids)
        row = Message(session_id, Role.ASSISTANT, "", 1.0, calls=calls)
        db.write(lambda t, row=row: t.messages.append(row)).result()
    assert db.read(lambda t: t.calls.used_ids(one)).result() == {"a", "b", "c"}


def test_a_settled_request_never_changes(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.approvals.open(request(session_id, "r"))).result()
    assert db.write(lambda t: t.approvals.settle("r", Approval.DENIED, "no", 2.0)).result()
    assert not db.write(lambda t: t.approvals.settle("r", Approval.ALLOWED_ONCE, "", 3.0)).result()
    assert db.read(lambda t: t.approvals.of_call(session_id, "c")).result() == (Approval.DENIED, "no")


def test_waiting_requests_come_back_whole_and_oldest_first(db: SessionDB, session_id: str) -> None:
    requests = [request(session_id, id_, id_) for id_ in ("z", "a", "m")]
    for asked in requests:
        db.write(lambda t, asked=asked: t.approvals.open(asked)).result()
    db.write(lambda t: t.approvals.settle("a", Approval.TIMED_OUT, "", 2.0)).result()
    assert db.read(lambda t: t.approvals.waiting(session_id)).result() == [requests[0], requests[2]]


def test_a_call_nobody_decided_about_has_no_decision(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.approvals.open(request(session_id, "r"))).result()
    assert db.read(lambda t: t.approvals.of_call(session_id, "c")).result() is None


def test_a_turn_is_open_from_its_beginning_to_its_end(db: SessionDB, new_session: Callable[..., str]) -> None:
    session_id, other = new_session(), new_session()
    db.write(lambda t: t.turns.begin(session_id, 4.5)).result()
    db.write(lambda t: t.turns.end(other, ExitReason.COMPLETED, 5.0)).result()
    assert db.read(lambda t: t.turns.open_since(session_id)).result() == 4.5
    db.write(lambda t: t.turns.end(session_id, ExitReason.COMPLETED, 6.0)).result()
    assert db.read(lambda t: t.turns.open_since(session_id)).result() is None
