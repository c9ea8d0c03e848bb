"""How a conversation stands is told from its last rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from session.db import SessionDB
from session.models import ApprovalRequest, ExitReason, Finish, Message, Role
from session.status import Status, status

Say = Callable[..., list[Message]]


def stands(db: SessionDB, session_id: str) -> Status:
    return db.read(lambda t: status(t, session_id)).result()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], Status.COMPLETE),
        (["user one"], Status.CUT),
        (["user one", "notice Interrupted before an answer came."], Status.CUT),
        (["user one", "answer first"], Status.COMPLETE),
        (["user one", "answer first", "notice by the way"], Status.COMPLETE),
        (["user one", "calls a"], Status.CUT),
        (["user one", "calls a", "result a"], Status.CUT),
        (["user one", "calls a", "result a", "answer done"], Status.COMPLETE),
    ],
)
def test_the_last_thing_said_tells(db: SessionDB, session_id: str, say: Say, said: list[str], expected: Status) -> None:
    say(session_id, *said)
    assert stands(db, session_id) is expected


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        (Finish.CUT, Status.CUT),
        (Finish.ERROR, Status.CUT),
        (Finish.INTERRUPTED, Status.CUT),
        (Finish.LENGTH, Status.COMPLETE),
        (Finish.CONTENT_FILTER, Status.COMPLETE),
    ],
)
def test_an_answer_that_broke_off_is_cut(
    db: SessionDB, session_id: str, say: Say, finish: Finish, expected: Status
) -> None:
    say(session_id, "user one")
    row = Message(session_id, Role.ASSISTANT, "half", 1.0, finish=finish)
    db.write(lambda t: t.messages.append(row)).result()
    assert stands(db, session_id) is expected


def test_an_open_turn_works_or_waits_for_the_person(db: SessionDB, session_id: str, say: Say) -> None:
    db.write(lambda t: t.turns.begin(session_id, 1.0)).result()
    say(session_id, "user one", "calls a")
    assert stands(db, session_id) is Status.WORKING
    asked = ApprovalRequest("r", session_id, "a", "terminal", "ls", "why", 1.0)
    db.write(lambda t: t.approvals.open(asked)).result()
    assert stands(db, session_id) is Status.WAITING
    db.write(lambda t: t.turns.end(session_id, ExitReason.INTERRUPTED, 2.0)).result()
    assert stands(db, session_id) is Status.CUT


def test_what_was_rewound_does_not_count(db: SessionDB, session_id: str, say: Say) -> None:
    say(session_id, "user one", "answer first")
    (prompt, _) = say(session_id, "user two", "calls a")
    assert stands(db, session_id) is Status.CUT
    db.write(lambda t: t.lineage.rewind(session_id, prompt.id, 2.0)).result()
    assert stands(db, session_id) is Status.COMPLETE
