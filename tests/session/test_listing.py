"""Which sessions are listed, in which order, and what a person may call them by."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from session.db import SessionDB
from session.models import EndReason, Kind, Message, Role, Session

NewSession = Callable[..., str]


def ids_of(sessions: list[Session]) -> list[str]:
    return [session.id for session in sessions]


def stored(db: SessionDB, session_id: str) -> Session:
    session = db.read(lambda t: t.sessions.get(session_id)).result()
    assert session
    return session


def listed(db: SessionDB, *place: int, **wanted: object) -> list[str]:
    return ids_of(db.read(lambda t: t.sessions.listing(*place, **wanted)).result())  # type: ignore[arg-type]


def counted(db: SessionDB, **wanted: object) -> int:
    return db.read(lambda t: t.sessions.count(**wanted)).result()  # type: ignore[arg-type]


def found(db: SessionDB, text: str) -> list[str]:
    return ids_of(db.read(lambda t: t.sessions.find(text)).result())


def test_the_latest_is_the_last_active_that_was_not_archived(db: SessionDB, new_session: NewSession) -> None:
    new_session(workspace="/here", last_activity_at=5.0)
    there = new_session(workspace="/there", last_activity_at=7.0)
    left, archived = (new_session(workspace="/here", last_activity_at=at) for at in (6.0, 9.0))
    db.write(lambda t: t.sessions.end(left, EndReason.NEW, 10.0)).result()
    db.write(lambda t: t.sessions.archive(archived, 10.0)).result()

    def latest(workspace: str | None) -> str | None:
        session = db.read(lambda t: t.sessions.latest(workspace)).result()
        return session and session.id

    assert latest("/here") == left
    assert latest(None) == there
    assert latest("/nowhere") is None


def test_the_listing_is_by_activity(db: SessionDB, new_session: NewSession) -> None:
    first, third, second = (new_session(last_activity_at=at) for at in (9.0, 7.0, 8.0))
    db.write(lambda t: t.sessions.end(second, EndReason.NEW, 10.0)).result()
    assert listed(db) == [first, second, third]
    assert listed(db, 1, 1) == [second]


def test_archived_sessions_are_listed_only_when_asked_for(db: SessionDB, new_session: NewSession) -> None:
    kept, archived = new_session(last_activity_at=2.0), new_session(last_activity_at=3.0)
    db.write(lambda t: t.sessions.archive(archived, 10.0)).result()
    assert (listed(db), counted(db)) == ([kept], 1)
    assert (listed(db, include_archived=True), counted(db, include_archived=True)) == ([archived, kept], 2)


def test_deleted_sessions_and_continuations_are_not_listed(db: SessionDB, new_session: NewSession) -> None:
    parent = new_session()
    branch = new_session(parent_id=parent, kind=Kind.BRANCH)
    new_session(parent_id=parent, kind=Kind.COMPACTION)
    deleted = new_session()
    db.write(lambda t: t.sessions.delete(deleted, 10.0)).result()
    assert set(listed(db, include_archived=True)) == {parent, branch}
    assert counted(db, include_archived=True) == 2


def test_pages_give_each_session_once_while_others_move_up(db: SessionDB, new_session: NewSession) -> None:
    """Equal times are parted by the id; what becomes active meanwhile moves before the pages still to come."""
    ids = [new_session(last_activity_at=float(at // 3)) for at in range(20)]
    seen: list[Session] = []

    def page() -> list[Session]:
        before = (seen[-1].last_activity_at, seen[-1].id) if seen else None
        return db.read(lambda t: t.sessions.listing(6, before=before)).result()

    while more := page():
        seen += more
        row = Message(seen[0].id, Role.USER, "hi", 100.0)
        db.write(lambda t, row=row: t.messages.append(row)).result()
    assert sorted(ids_of(seen)) == sorted(ids)


def test_pinned_sessions_are_found_however_old_they_are(db: SessionDB, new_session: NewSession) -> None:
    old, _, older = (new_session(last_activity_at=at) for at in (2.0, 9.0, 1.0))
    for session_id in (older, old):
        db.write(lambda t, session_id=session_id: t.sessions.set_pinned(session_id, True)).result()
    assert ids_of(db.read(lambda t: t.sessions.pinned()).result()) == [old, older]
    db.write(lambda t: t.sessions.set_pinned(old, False)).result()
    assert ids_of(db.read(lambda t: t.sessions.pinned()).result()) == [older]


LOOK_ALIKES = [
    "/w/my_app",
    "/w/my-app",
    "/w/my.app",
    "/w/My_app",
    "/w/my_app/",
    "/w/my_ap%",
    "/w/" + "x" * 217 + "1",
    "/w/" + "x" * 217 + "2",
]


def test_E12_workspaces_that_look_alike_are_never_mixed(db: SessionDB, new_session: NewSession) -> None:
    held = {path: new_session(workspace=path, cwd=path, title=path) for path in LOOK_ALIKES}
    for path, session_id in held.items():
        latest = db.read(lambda t, path=path: t.sessions.latest(path)).result()
        assert latest
        assert latest.id == session_id
        assert listed(db, workspace=path) == listed(db, cwd=path) == [session_id]
        assert counted(db, workspace=path) == 1


def test_E20_looking_changes_neither_order_nor_time(db: SessionDB, new_session: NewSession) -> None:
    old, _ = new_session(last_activity_at=1.0), new_session(last_activity_at=2.0)
    before = db.read(lambda t: t.sessions.listing()).result()
    db.write(lambda t: t.sessions.mark_read(old, 50.0)).result()
    after = db.read(lambda t: t.sessions.listing()).result()
    assert [(s.id, s.last_activity_at) for s in after] == [(s.id, s.last_activity_at) for s in before]
    assert stored(db, old).last_read_at == 50.0


def test_a_session_is_found_by_id_by_title_and_by_how_its_id_begins(db: SessionDB, new_session: NewSession) -> None:
    one = new_session(id="20261129-195611-4f2a", title="Fix the tests")
    two = new_session(id="20261129-201500-0b1c", title="20261129-195611-4f2a and more")
    assert found(db, one) == found(db, "Fix the tests") == found(db, " Fix\tthe tests\n") == [one]
    assert found(db, "20261129-2") == [two]
    assert found(db, "20261129-") == [two, one]
    assert found(db, "20261129-195611-4f2a and more") == [two]
    assert found(db, "") == found(db, "%") == found(db, "2026112?") == found(db, "nobody") == []


def test_an_exact_id_or_title_is_never_ambiguous(db: SessionDB, new_session: NewSession) -> None:
    short, _ = new_session(id="abc"), new_session(id="abcd")
    titled = new_session(id="xyz", title="ab")
    assert found(db, "abc") == [short]
    assert found(db, "ab") == [titled]


def test_a_deleted_session_is_not_found(db: SessionDB, new_session: NewSession) -> None:
    gone = new_session(id="abcd", title="Gone")
    db.write(lambda t: t.sessions.delete(gone, 10.0)).result()
    assert found(db, "abcd") == found(db, "ab") == found(db, "Gone") == []
    assert db.read(lambda t: t.sessions.get(gone)).result() is None
    assert db.read(lambda t: (t.sessions.is_deleted(gone), t.sessions.is_deleted("nobody"))).result() == (True, False)


def test_a_damaged_session_is_still_listed(db: SessionDB, db_path: Path, new_session: NewSession) -> None:
    whole, damaged = new_session(), new_session()
    with closing(sqlite3.connect(db_path)) as raw, raw:
        raw.execute("UPDATE sessions SET title = x'ff' WHERE id = ?", (damaged,))
    listed = db.read(lambda t: t.sessions.listing()).result()
    assert {session.id for session in listed} == {whole, damaged}
    assert stored(db, damaged).title.startswith("[damaged row")
