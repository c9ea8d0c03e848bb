"""Prune removes what a person ended long ago and did not pin, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from session.db import SessionDB
from session.models import EndReason, Kind, Message, Role
from session.prune import DAY_S, TOMBSTONE_DAYS, make_smaller, prune, to_prune

NewSession = Callable[..., str]
Say = Callable[..., list[Message]]

NOW = 1_000 * DAY_S
OLD = NOW - 100 * DAY_S
RECENT = NOW - 80 * DAY_S


@pytest.fixture
def ended(db: SessionDB, new_session: NewSession) -> Callable[..., str]:
    """A session that was ended at a time and last active then; keywords replace fields."""

    def create(at: float = OLD, **fields: object) -> str:
        values = {"last_activity_at": at, "ended_at": at, "end_reason": EndReason.ARCHIVED, "is_archived": True}
        return new_session(**(values | fields))

    return create


def left(db: SessionDB) -> set[str]:
    return {session.id for session in db.read(lambda t: t.sessions.listing(include_archived=True)).result()}


def test_only_what_was_ended_long_ago_goes(db: SessionDB, new_session: NewSession, ended: Callable[..., str]) -> None:
    kept = {
        new_session(last_activity_at=OLD),  # never ended
        ended(RECENT),
        ended(OLD, last_activity_at=RECENT),
        ended(RECENT, last_activity_at=OLD),  # archived lately
        ended(OLD, is_pinned=True),
    }
    old = {ended(OLD), ended(OLD, end_reason=EndReason.NEW, is_archived=False)}
    assert {found.id for found in db.read(lambda t: to_prune(t, NOW, 90)).result().sessions} == old
    assert left(db) == kept | old
    assert {found.id for found in prune(db, NOW, 90).sessions} == old
    assert left(db) == kept
    assert prune(db, NOW, 90).sessions == ()


def test_what_goes_on_with_a_conversation_goes_with_it(db: SessionDB, ended: Callable[..., str], say: Say) -> None:
    first = ended(OLD)
    second = ended(OLD, kind=Kind.COMPACTION, parent_id=first, ended_at=None, end_reason=None)
    say(first, "user one", "answer two")
    say(second, "user three")
    db.write(lambda t: t.connection.run("UPDATE sessions SET last_activity_at = ?", OLD)).result()
    (removed,) = prune(db, NOW, 90).sessions
    assert (removed.ids, removed.messages) == ((first, second), 3)
    assert db.read(lambda t: t.sessions.get(second)).result() is None


def test_a_conversation_that_was_gone_on_with_lately_stays(db: SessionDB, ended: Callable[..., str]) -> None:
    first = ended(OLD)
    ended(RECENT, kind=Kind.COMPACTION, parent_id=first)
    assert prune(db, NOW, 90).sessions == ()


def test_a_session_with_an_open_turn_stays(db: SessionDB, ended: Callable[..., str]) -> None:
    session_id = ended(OLD)
    db.write(lambda t: t.turns.begin(session_id, OLD)).result()
    assert prune(db, NOW, 90).sessions == ()


def test_a_branch_outlives_what_it_came_from(db: SessionDB, new_session: NewSession, ended: Callable[..., str]) -> None:
    parent = ended(OLD)
    branch = new_session(kind=Kind.BRANCH, parent_id=parent)
    prune(db, NOW, 90)
    assert left(db) == {branch}


def test_the_mark_of_a_deleted_session_goes_after_a_month_unless_another_comes_from_it(
    db: SessionDB, new_session: NewSession
) -> None:
    alone, parent, lately = new_session(), new_session(), new_session()
    new_session(kind=Kind.BRANCH, parent_id=parent)
    month_ago = NOW - (TOMBSTONE_DAYS + 1) * DAY_S
    for session_id, at in ((alone, month_ago), (parent, month_ago), (lately, NOW)):
        db.write(lambda t, session_id=session_id, at=at: t.sessions.delete(session_id, at)).result()
    assert prune(db, NOW, 90).tombstones == 1
    marked = [db.read(lambda t, id_=id_: t.sessions.is_deleted(id_)).result() for id_ in (alone, parent, lately)]
    assert marked == [False, True, True]


def test_the_file_is_made_smaller_only_where_a_quarter_of_it_is_unused(
    db: SessionDB, ended: Callable[..., str], db_path: Path
) -> None:
    session_id = ended(OLD)
    assert not make_smaller(db)
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "x" * 2_000_000, OLD))).result()
    db.aside(lambda connection: connection.run("PRAGMA wal_checkpoint(TRUNCATE)")).result()
    assert db_path.stat().st_size > 2_000_000
    prune(db, NOW, 90)
    assert make_smaller(db)
    assert db_path.stat().st_size < 1_000_000


def test_deleting_a_conversation_leaves_none_of_its_continuations(
    db: SessionDB, new_session: NewSession, say: Say
) -> None:
    """Even where a damaged file lets a session go on with itself."""
    first = new_session()
    second = new_session(kind=Kind.COMPACTION, parent_id=first)
    third = new_session(kind=Kind.COMPACTION, parent_id=second)
    branch = new_session(kind=Kind.BRANCH, parent_id=second)
    say(third, "user the end")
    db.write(
        lambda t: t.connection.run("UPDATE sessions SET parent_id = ?, kind = 'compaction' WHERE id = ?", third, first)
    ).result()
    assert db.write(lambda t: t.sessions.delete(first, NOW)).result()
    assert [db.read(lambda t, id_=id_: t.sessions.get(id_)).result() for id_ in (first, second, third)] == [None] * 3
    assert db.read(lambda t: t.sessions.get(branch)).result() is not None
    assert db.read(lambda t: t.search.find("end")).result().hits == ()
