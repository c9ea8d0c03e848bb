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


def test_the_first_end_reason_stands(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.sessions.end(session_id, EndReason.NEW, 2.0)).result()
    db.write(lambda t: t.sessions.end(session_id, EndReason.ARCHIVED, 3.0)).result()
    session = stored(db, session_id)
    assert (session.end_reason, session.ended_at) == (EndReason.NEW, 2.0)


def test_an_archived_session_is_ended_and_comes_back_open(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.sessions.archive(session_id, 2.0)).result()
    archived = stored(db, session_id)
    assert (archived.is_archived, archived.end_reason, archived.ended_at) == (True, EndReason.ARCHIVED, 2.0)
    db.write(lambda t: t.sessions.unarchive(session_id)).result()
    back = stored(db, session_id)
    assert (back.is_archived, back.end_reason, back.ended_at) == (False, None, None)


def test_unarchiving_does_not_undo_an_end_that_came_before(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.sessions.end(session_id, EndReason.NEW, 2.0)).result()
    db.write(lambda t: t.sessions.archive(session_id, 3.0)).result()
    assert stored(db, session_id).is_archived
    db.write(lambda t: t.sessions.unarchive(session_id)).result()
    back = stored(db, session_id)
    assert (back.is_archived, back.end_reason, back.ended_at) == (False, EndReason.NEW, 2.0)


@pytest.mark.parametrize("reason", [EndReason.NEW, EndReason.ARCHIVED])
def test_any_session_can_be_gone_on_with(db: SessionDB, session_id: str, reason: EndReason) -> None:
    db.write(lambda t: t.sessions.end(session_id, reason, 2.0)).result()
    db.write(lambda t: t.sessions.reopen(session_id)).result()
    session = stored(db, session_id)
    assert (session.is_archived, session.end_reason, session.ended_at) == (False, None, None)


def test_only_what_a_person_commands_ends_a_session() -> None:
    """A crash, an exit, an idle unload have no reason to give: the type cannot say them."""
    assert {reason.value for reason in EndReason} == {"new", "archived", "deleted"}


@pytest.mark.parametrize(
    ("held", "offered", "kept"), [("unknown", "tui", "tui"), ("chat", "tui", "chat"), ("chat", "unknown", "chat")]
)
def test_a_known_source_stands(db: SessionDB, new_session: NewSession, held: str, offered: str, kept: str) -> None:
    session_id = new_session(source=held)
    db.write(lambda t: t.sessions.claim_source(session_id, offered)).result()
    assert stored(db, session_id).source == kept


def test_reading_is_noted_and_never_taken_back(db: SessionDB, session_id: str) -> None:
    for at in (5.0, 3.0):
        db.write(lambda t, at=at: t.sessions.mark_read(session_id, at)).result()
    assert stored(db, session_id).last_read_at == 5.0


def test_E10_a_session_can_be_given_the_folder_it_moved_to(db: SessionDB, new_session: NewSession) -> None:
    session_id, other = new_session(cwd="/w/a", workspace="/w/a"), new_session(cwd="/w/a", workspace="/w/a")
    db.write(lambda t: t.sessions.relink(session_id, "/w/b/sub", "/w/b")).result()
    assert (stored(db, session_id).cwd, stored(db, session_id).workspace) == ("/w/b/sub", "/w/b")
    assert stored(db, other).cwd == "/w/a"


def test_E10_all_sessions_follow_a_folder_that_moved(db: SessionDB, new_session: NewSession) -> None:
    """Also those below it; never one whose name only begins alike."""
    places = {
        ("/w/a", "/w/a"): ("/w/b", "/w/b"),
        ("/w/a/sub", "/w/a"): ("/w/b/sub", "/w/b"),
        ("/w/a/sub/deep", "/w/a/sub"): ("/w/b/sub/deep", "/w/b/sub"),
        ("/w/ab", "/w/ab"): ("/w/ab", "/w/ab"),
        ("/w/A", "/w/A"): ("/w/A", "/w/A"),
        ("/w/a_", "/w"): ("/w/a_", "/w"),
    }
    ids = [new_session(cwd=cwd, workspace=workspace) for cwd, workspace in places]
    assert db.write(lambda t: t.sessions.relink_folder("/w/a/", "/w/b/")).result() == 3
    found = [stored(db, session_id) for session_id in ids]
    assert [(session.cwd, session.workspace) for session in found] == list(places.values())


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


def test_ids_sort_by_time_and_can_be_typed() -> None:
    moments = [0.0, 1_700_000_000.0, 1_700_000_001.0, 1_795_982_171.5]
    ids = [new_session_id(at) for at in moments]
    assert ids == sorted(ids)
    assert ids[-1].startswith("20261129-195611-")
    assert len(ids[-1]) == 24
