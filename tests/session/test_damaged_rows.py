"""E09: a row that cannot be read does not close its session, and nothing passes over it in silence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from session.db import SessionDB
from session.errors import DamagedRow
from session.invariants import violations
from session.models import Message, Role
from session.tables import Tables

Say = Callable[..., list[Message]]
Damage = Callable[..., None]


@pytest.fixture
def damage(db_path: Path) -> Damage:
    """Write a value into a column of a row behind the back of the store."""

    def write(message_id: int, column: str, value: object) -> None:
        with closing(sqlite3.connect(db_path)) as raw, raw:
            raw.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", (value, message_id))

    return write


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("calls", '{"content": "abc'),
        ("calls", '{"id": 1}'),
        ("calls", '[{"id": "c"}]'),
        ("calls", "[" * 100_000),
        ("usage", "null"),
        ("usage", '{"input": 1'),
        ("usage", "[]"),
        ("parts", '[{"type": "te'),
        ("parts", '{"type": "text"}'),
        ("parts", '["text"]'),
        ("extras", '{"a": '),
        ("extras", '"text"'),
        ("role", "ghost"),
        ("role", ""),
        ("level", ""),
        ("finish", "sideways"),
        ("content", b"\xff\0"),
        ("created_at", "noon"),
        ("exit_code", "one"),
    ],
)
def test_E09_a_damaged_row_stands_as_a_notice_among_the_others(
    db: SessionDB, session_id: str, say: Say, damage: Damage, column: str, value: object
) -> None:
    before, damaged, after = say(session_id, "user one", "answer row", "user two")
    damage(damaged.id, column, value)
    rows = db.read(lambda t: t.messages.all(session_id)).result()
    assert (rows[0], rows[2]) == (before, after)
    assert (rows[1].id, rows[1].role, rows[1].is_damaged) == (damaged.id, Role.NOTICE, True)
    assert rows[1].content.startswith(f"[damaged row {damaged.id}: ")
    assert f"Every row can be read: {rows[1].content}" in db.read(lambda t: violations(t, session_id)).result()


@pytest.mark.parametrize(
    "verb",
    [
        lambda t, id_, rows: t.lineage.rewind(id_, rows[0].id, 2.0),
        lambda t, id_, rows: t.lineage.rewind(id_, rows[1].id, 2.0),
        lambda t, id_, rows: t.lineage.branch(id_, rows[1].id, "new", 2.0),
        lambda t, id_, rows: t.lineage.branch(id_, rows[2].id, "new", 2.0),
        lambda t, id_, rows: t.lineage.swap(id_, rows[0].id, rows[2].id, Message("", Role.USER, "s", 2.0), 0),
    ],
    ids=["rewind over it", "rewind to it", "branch at it", "branch behind it", "summary of it"],
)
def test_E09_nothing_passes_over_a_damaged_row_in_silence(
    db: SessionDB, session_id: str, say: Say, damage: Damage, verb: Callable[[Tables, str, list[Message]], object]
) -> None:
    rows = say(session_id, "user one", "answer row", "user two", "answer second")
    damage(rows[1].id, "usage", "{")
    before = db.read(lambda t: (t.sessions.get(session_id), t.messages.all(session_id))).result()
    with pytest.raises(DamagedRow, match=f"Row {rows[1].id} of this conversation is damaged"):
        db.write(lambda t: verb(t, session_id, rows)).result()
    assert db.read(lambda t: (t.sessions.get(session_id), t.messages.all(session_id))).result() == before
    assert db.read(lambda t: t.sessions.get("new")).result() is None


def test_E09_what_stands_apart_from_the_damage_goes_on_as_ever(
    db: SessionDB, session_id: str, say: Say, damage: Damage
) -> None:
    rows = say(session_id, "user one", "answer row", "user two", "answer second")
    damage(rows[1].id, "usage", "{")
    db.write(lambda t: t.lineage.branch(session_id, rows[0].id, "new", 2.0)).result()
    db.write(lambda t: t.lineage.rewind(session_id, rows[2].id, 2.0)).result()
    db.write(lambda t: t.lineage.undo_rewind(session_id)).result()
    assert [row.id for row in db.read(lambda t: t.messages.all(session_id)).result()] == [row.id for row in rows]


def test_E09_a_rewind_is_not_undone_over_a_row_that_was_damaged_since(
    db: SessionDB, session_id: str, say: Say, damage: Damage
) -> None:
    rows = say(session_id, "user one", "answer row")
    db.write(lambda t: t.lineage.rewind(session_id, rows[0].id, 2.0)).result()
    damage(rows[1].id, "usage", "{")
    with pytest.raises(DamagedRow):
        db.write(lambda t: t.lineage.undo_rewind(session_id)).result()
    assert db.read(lambda t: t.messages.all(session_id)).result() == []


def test_E09_the_calls_of_a_damaged_row_are_not_settled(
    db: SessionDB, session_id: str, say: Say, damage: Damage
) -> None:
    """The row stands as a notice without calls, so a result would answer nothing."""
    _, calls = say(session_id, "user one", "calls a b")
    damage(calls.id, "usage", "{")
    assert db.read(lambda t: t.calls.unanswered(session_id)).result() == []
    assert db.read(lambda t: t.calls.used_ids(session_id)).result() == {"a", "b"}


def test_E09_a_damaged_result_still_answers_its_call(db: SessionDB, session_id: str, say: Say, damage: Damage) -> None:
    _, _, result = say(session_id, "user one", "calls a", "result a")
    damage(result.id, "outcome", "sideways")
    assert db.read(lambda t: t.calls.unanswered(session_id)).result() == []
