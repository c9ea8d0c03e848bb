"""The marks on a call: made, started, asked about, decided."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from session.db import SessionDB
from session.errors import SessionDeleted
from session.invariants import violations
from session.models import Approval, ApprovalRequest, ExitReason, Message, Partial, Role, ToolCall
from session.tables import Tables


def request(session_id: str, id_: str, call_id: str = "c") -> ApprovalRequest:
    return ApprovalRequest(id_, session_id, call_id, "terminal", "rm -r x\n\u202e", "it runs a command", 1.25)


def test_a_call_starts_once(db: SessionDB, session_id: str, say: Callable[..., object]) -> None:
    say(session_id, "user go", "calls c")
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


def test_nothing_is_written_of_a_deleted_session(db: SessionDB, session_id: str) -> None:
    """E18: also not by what runs elsewhere and has not heard of it."""
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    writes: list[Callable[[Tables], object]] = [
        lambda t: t.calls.mark_started(session_id, "c", Approval.NOT_ASKED, 3.0),
        lambda t: t.approvals.open(request(session_id, "r")),
        lambda t: t.turns.begin(session_id, 3.0),
        lambda t: t.partials.append(session_id, Partial("half"), 3.0),
        lambda t: t.messages.append(Message(session_id, Role.USER, "late", 3.0)),
    ]
    for write in writes:
        with pytest.raises(SessionDeleted):
            db.write(write).result()
    assert db.read(lambda t: violations(t, session_id)).result() == []


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


def test_a_request_keeps_what_it_tells_and_what_came_with_its_answer(db: SessionDB, session_id: str) -> None:
    asked = replace(request(session_id, "r"), details='{"marks": []}')
    db.write(lambda t: t.approvals.open(asked)).result()
    assert db.read(lambda t: t.approvals.waiting(session_id)).result() == [asked]
    settle = ("r", Approval.ALLOWED_ALWAYS, "", 2.0, "git push *\n= ls", "ls -l")
    assert db.write(lambda t: t.approvals.settle(*settle)).result()
    kept = db.read(lambda t: t.connection.row("SELECT rules, edited FROM approval_requests")).result()
    assert kept == ("git push *\n= ls", "ls -l")


def test_how_much_a_session_asks_is_kept_until_it_is_deleted(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.sessions.set_mode(session_id, "plan")).result()
    session = db.read(lambda t: t.sessions.get(session_id)).result()
    assert session is not None and session.mode == "plan"
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    assert db.read(lambda t: t.connection.value("SELECT mode FROM sessions WHERE id = ?", session_id)).result() == ""


def test_the_latest_calls_of_a_tool_are_those_of_all_sessions_without_secrets(
    db: SessionDB, new_session: Callable[..., str]
) -> None:
    one, other = new_session(), new_session()
    made = [(one, "terminal", "1"), (other, "terminal", "2"), (one, "todo", "3"), (one, "terminal", "4")]
    for session_id, name, arguments in made:
        calls = (ToolCall(arguments, name, arguments), ToolCall(f"m{arguments}", name, "[KEY]", is_masked=True))
        row = Message(session_id, Role.ASSISTANT, "", 1.0, calls=calls)
        db.write(lambda t, row=row: t.messages.append(row)).result()
    assert db.read(lambda t: t.calls.latest("terminal", 2)).result() == ["4", "2"]
    assert db.read(lambda t: t.calls.latest("terminal", 9)).result() == ["4", "2", "1"]
