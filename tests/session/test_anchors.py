"""What a session's context figure rests on goes with the rows that were counted, and with no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from session.db import SessionDB
from session.errors import SessionDeleted
from session.export import export_jsonl
from session.models import Message, Role, Session
from session.tables import Tables

Say = Callable[..., list[Message]]

ANCHORS, COMPACTION = '{"last": 1}', '{"failures": 2}'


def session(db: SessionDB, session_id: str) -> Session:
    found = db.read(lambda t: t.sessions.get(session_id)).result()
    assert found
    return found


@pytest.fixture
def counted(db: SessionDB, session_id: str, say: Say) -> tuple[str, list[Message]]:
    """A session of two turns, with anchors and with what is known of compactions."""
    rows = say(session_id, "user one", "answer 1", "user two", "answer 2")

    def store(tables: Tables) -> None:
        tables.sessions.set_anchors(session_id, ANCHORS)
        tables.sessions.set_compaction(session_id, COMPACTION)

    db.write(store).result()
    return session_id, rows


def test_they_stay_with_rows_that_are_appended(db: SessionDB, counted: tuple[str, list[Message]], say: Say) -> None:
    session_id, _ = counted
    say(session_id, "user three", "answer 3")
    assert (session(db, session_id).anchors, session(db, session_id).compaction) == (ANCHORS, COMPACTION)


REVISIONS: dict[str, Callable[[Tables, str, list[Message]], object]] = {
    "rewind": lambda t, id_, rows: t.lineage.rewind(id_, rows[2].id, 2.0),
    "retry": lambda t, id_, rows: t.lineage.retry(id_, 2.0),
    "swap": lambda t, id_, rows: t.lineage.swap(id_, rows[0].id, rows[2].id, Message("", Role.USER, "so far", 2.0), 0),
}


@pytest.mark.parametrize("name", REVISIONS)
def test_G04_what_takes_rows_out_takes_them_away_and_leaves_what_is_known_of_compactions(
    db: SessionDB, counted: tuple[str, list[Message]], name: str
) -> None:
    session_id, rows = counted
    db.write(lambda t: REVISIONS[name](t, session_id, rows)).result()
    assert (session(db, session_id).anchors, session(db, session_id).compaction) == ("", COMPACTION)


UNDONE: dict[str, Callable[[Tables, str], object]] = {
    "rewind": lambda t, id_: t.lineage.undo_rewind(id_),
    "swap": lambda t, id_: t.lineage.undo_swap(id_),
}


@pytest.mark.parametrize("name", UNDONE)
def test_what_brings_rows_back_takes_those_away_that_were_taken_meanwhile(
    db: SessionDB, counted: tuple[str, list[Message]], name: str
) -> None:
    session_id, rows = counted
    db.write(lambda t: REVISIONS[name](t, session_id, rows)).result()
    db.write(lambda t: t.sessions.set_anchors(session_id, ANCHORS)).result()
    db.write(lambda t: UNDONE[name](t, session_id)).result()
    assert session(db, session_id).anchors == ""


def test_a_branch_takes_the_anchors_over_and_begins_without_compactions(
    db: SessionDB, counted: tuple[str, list[Message]]
) -> None:
    session_id, rows = counted
    branch = db.write(lambda t: t.lineage.branch(session_id, rows[-1].id, "branch", 2.0)).result()
    assert session(db, "branch") == branch
    assert (branch.anchors, branch.compaction) == (ANCHORS, "")
    assert session(db, session_id).anchors == ANCHORS


def test_neither_is_part_of_an_export(db: SessionDB, counted: tuple[str, list[Message]]) -> None:
    exported = db.read(lambda t: "".join(export_jsonl(t, [counted[0]]))).result()
    assert "failures" not in exported and "last" not in exported.replace("last_", "")


def test_E18_a_deleted_session_keeps_none_and_takes_none(db: SessionDB, counted: tuple[str, list[Message]]) -> None:
    session_id, _ = counted
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    left = db.read(lambda t: t.connection.row("SELECT anchors, compaction FROM sessions WHERE id = ?", session_id))
    assert left.result() == ("", "")
    with pytest.raises(SessionDeleted):
        db.write(lambda t: t.sessions.set_anchors(session_id, ANCHORS)).result()
