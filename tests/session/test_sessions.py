"""Sessions: what is kept of each, which one is gone back to, and what may replace what."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from session.db import SessionDB
from session.models import ApiMode, EndReason, Route, Session, TitleSource
from session.sessions import new_session_id

ROUTE = Route("local", "qwen3:8b", "http://127.0.0.1:11434/v1", ApiMode.CHAT, "OLLAMA_KEY", 40_960)
NewSession = Callable[..., str]


def stored(db: SessionDB, session_id: str) -> Session:
    session = db.read(lambda t: t.sessions.get(session_id)).result()
    assert session
    return session


@pytest.mark.parametrize("route", [None, ROUTE, Route("demo", "demo", "", ApiMode.DEMO)])
def test_every_field_comes_back(db: SessionDB, route: Route | None) -> None:
    session = Session(
        "s", "chat", "T", TitleSource.MODEL, "/w/sub", "/w", 1.25, 2.5, route, "pirate", 3.5, EndReason.ARCHIVED
    )
    db.write(lambda t: t.sessions.create(session)).result()
    assert stored(db, "s") == session


def test_an_unknown_session_is_none(db: SessionDB) -> None:
    assert db.read(lambda t: t.sessions.get("nobody")).result() is None


def test_the_latest_is_the_last_active_that_was_not_ended(db: SessionDB, new_session: NewSession) -> None:
    here = new_session(workspace="/here", last_activity_at=5.0)
    there = new_session(workspace="/there", last_activity_at=7.0)
    ended = new_session(workspace="/here", last_activity_at=9.0)
    db.write(lambda t: t.sessions.end(ended, EndReason.NEW, 10.0)).result()

    def latest(workspace: str | None) -> str | None:
        session = db.read(lambda t: t.sessions.latest(workspace)).result()
        return session and session.id

    assert latest("/here") == here
    assert latest(None) == there
    assert latest("/nowhere") is None


def test_the_listing_is_by_activity_without_deleted_ones(db: SessionDB, new_session: NewSession) -> None:
    ids = [new_session(last_activity_at=float(at)) for at in range(5)]
    db.write(lambda t: t.sessions.end(ids[1], EndReason.ARCHIVED, 10.0)).result()
    db.write(lambda t: t.sessions.end(ids[3], EndReason.DELETED, 10.0)).result()

    def listed(limit: int, offset: int) -> list[str]:
        return [session.id for session in db.read(lambda t: t.sessions.listing(limit, offset)).result()]

    assert listed(50, 0) == [ids[4], ids[2], ids[1], ids[0]]
    assert listed(2, 1) == [ids[2], ids[1]]
    assert db.read(lambda t: t.sessions.count()).result() == 4


@pytest.mark.parametrize("held", TitleSource)
@pytest.mark.parametrize("offered", TitleSource)
def test_a_title_gives_way_only_to_its_equals_and_betters(
    db: SessionDB, new_session: NewSession, held: TitleSource, offered: TitleSource
) -> None:
    session_id = new_session(title="held", title_source=held)
    landed = db.write(lambda t: t.sessions.set_title(session_id, "offered", offered)).result()
    session = stored(db, session_id)
    assert landed == (offered >= held)
    assert (session.title, session.title_source) == (("offered", offered) if landed else ("held", held))


def test_the_first_end_reason_stands(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.sessions.end(session_id, EndReason.NEW, 2.0)).result()
    db.write(lambda t: t.sessions.end(session_id, EndReason.ARCHIVED, 3.0)).result()
    session = stored(db, session_id)
    assert (session.end_reason, session.ended_at) == (EndReason.NEW, 2.0)


def test_route_and_personality_are_replaced_whole(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.sessions.set_route(session_id, ROUTE)).result()
    db.write(lambda t: t.sessions.set_personality(session_id, "pirate")).result()
    session = stored(db, session_id)
    assert (session.route, session.personality) == (ROUTE, "pirate")


@pytest.mark.parametrize("damage", ['"', "[]", '{"provider": "x"}', "null"])
def test_a_damaged_route_is_no_route(db: SessionDB, db_path: Path, session_id: str, damage: str) -> None:
    with closing(sqlite3.connect(db_path)) as raw, raw:
        raw.execute("UPDATE sessions SET route = ?", (damage,))
    assert stored(db, session_id).route is None


def test_a_damaged_session_is_still_listed(db: SessionDB, db_path: Path, new_session: NewSession) -> None:
    whole, damaged = new_session(), new_session()
    with closing(sqlite3.connect(db_path)) as raw, raw:
        raw.execute("UPDATE sessions SET title = x'ff' WHERE id = ?", (damaged,))
    listed = db.read(lambda t: t.sessions.listing()).result()
    assert {session.id for session in listed} == {whole, damaged}
    assert stored(db, damaged).title.startswith("[damaged row")


def test_ids_sort_by_time_and_can_be_typed() -> None:
    moments = [0.0, 1_700_000_000.0, 1_700_000_001.0, 1_795_982_171.5]
    ids = [new_session_id(at) for at in moments]
    assert ids == sorted(ids)
    assert ids[-1].startswith("20261129-195611-")
    assert len(ids[-1]) == 20
