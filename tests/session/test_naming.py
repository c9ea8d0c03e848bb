"""Titles are unique, and a session can always be called by its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.db import SessionDB
from session.errors import EmptyTitle, SessionDeleted, TitleTaken
from session.models import Session, TitleSource
from session.naming import free_number
from session.titles import MAX_CHARS

NewSession = Callable[..., str]
LONG = "x" * MAX_CHARS


def stored(db: SessionDB, session_id: str) -> Session:
    session = db.read(lambda t: t.sessions.get(session_id)).result()
    assert session
    return session


def rename(db: SessionDB, session_id: str, title: str, source: TitleSource = TitleSource.PERSON) -> bool:
    return db.write(lambda t: t.sessions.set_title(session_id, title, source)).result()


@pytest.mark.parametrize(
    ("created", "titles"),
    [
        (["a", "a", "a"], ["a", "a #2", "a #3"]),
        (["a #2", "a", "a", "a"], ["a #2", "a", "a #3", "a #4"]),
        (["fix #2", "fix #2", "fix #2"], ["fix #2", "fix #2 #2", "fix #2 #3"]),
        (["", ""], ["", ""]),
        (["a\nb", "a b"], ["a b", "a b #2"]),
        (["50%", "50%", "50_", "[a]*", "[a]*"], ["50%", "50% #2", "50_", "[a]*", "[a]* #2"]),
        (
            ["a #x", "a #-5", "a #99999999999999999999", "a", "a"],
            ["a #x", "a #-5", "a #99999999999999999999", "a", "a #2"],
        ),
        (["A", "a"], ["A", "a"]),
    ],
)
def test_a_title_that_is_taken_is_numbered(
    db: SessionDB, new_session: NewSession, created: list[str], titles: list[str]
) -> None:
    assert [stored(db, new_session(title=title)).title for title in created] == titles


def test_a_long_title_is_cut_so_that_its_number_fits(db: SessionDB, new_session: NewSession) -> None:
    titles = [stored(db, new_session(title=LONG)).title for _ in range(12)]
    assert titles[0] == LONG
    assert len(set(titles)) == 12
    assert all(len(title) <= MAX_CHARS for title in titles)
    assert titles[11].endswith("… #12")


def test_what_create_gives_is_what_is_stored(db: SessionDB, new_session: NewSession) -> None:
    new_session(title="a")
    session = Session("s", "tui", "a\u200b", TitleSource.DERIVED, "/w", "/w", 1.0, 1.0)
    created = db.write(lambda t: t.sessions.create(session)).result()
    assert created.title == "a #2"
    assert stored(db, "s") == created


@given(st.integers(0, 300), st.sets(st.integers(1, 1_000), max_size=20))
def test_a_free_number_is_found_whatever_is_taken(first: int, others: set[int]) -> None:
    taken = {*range(1, first + 1), *others}
    number = free_number(taken.__contains__)
    assert number not in taken
    assert number == 1 or number - 1 in taken


@pytest.mark.parametrize(
    ("held", "parent", "title"),
    [
        (["name"], "name", "name #2"),
        (["name", "name #2"], "name #2", "name #3"),
        (["name", "name #2"], "name", "name #3"),
        (["fix issue #2"], "fix issue #2", "fix issue #2 #2"),
        (["name #2"], "name", "name"),
        ([], "", ""),
    ],
)
def test_a_session_from_another_is_numbered_after_it(
    db: SessionDB, new_session: NewSession, held: list[str], parent: str, title: str
) -> None:
    for name in held:
        new_session(title=name)
    assert db.read(lambda t: t.sessions.next_title(parent)).result() == title


@pytest.mark.parametrize("held", TitleSource)
@pytest.mark.parametrize("offered", TitleSource)
def test_an_automatic_title_replaces_only_one_of_a_lower_source_and_a_person_any(
    db: SessionDB, new_session: NewSession, held: TitleSource, offered: TitleSource
) -> None:
    session_id = new_session(title="held", title_source=held)
    landed = rename(db, session_id, "offered", offered)
    session = stored(db, session_id)
    assert landed == (offered > held or offered is TitleSource.PERSON)
    assert (session.title, session.title_source) == (("offered", offered) if landed else ("held", held))


@pytest.mark.parametrize("source", TitleSource)
def test_any_title_is_better_than_none(db: SessionDB, new_session: NewSession, source: TitleSource) -> None:
    session_id = new_session(title="", title_source=TitleSource.PERSON)
    assert rename(db, session_id, "offered", source)


def test_a_title_made_for_another_state_of_the_session_does_not_land(db: SessionDB, new_session: NewSession) -> None:
    """The model that was asked for a title answers late: the session was named anew meanwhile."""
    session_id = new_session(title="second", title_source=TitleSource.DERIVED)

    def upgraded(instead_of: tuple[str, TitleSource]) -> bool:
        return db.write(
            lambda t: t.sessions.set_title(session_id, "better", TitleSource.MODEL, instead_of=instead_of)
        ).result()

    assert not upgraded(("first", TitleSource.DERIVED))
    assert not upgraded(("second", TitleSource.PERSON))
    assert upgraded(("second", TitleSource.DERIVED))
    assert not upgraded(("second", TitleSource.DERIVED))
    assert stored(db, session_id).title == "better"


def test_an_automatic_title_that_is_taken_is_numbered(db: SessionDB, new_session: NewSession) -> None:
    new_session(title="Tests")
    session_id = new_session(title="tests please")
    assert rename(db, session_id, "Tests", TitleSource.MODEL)
    assert stored(db, session_id).title == "Tests #2"


def test_a_person_is_told_who_has_the_title(db: SessionDB, new_session: NewSession) -> None:
    holder, session_id = new_session(title="{taken}"), new_session(title="mine")
    with pytest.raises(TitleTaken, match=f'"{{taken}}" is already the name of session {holder}'):
        rename(db, session_id, "{taken}")
    assert stored(db, session_id).title == "mine"


def test_a_person_can_make_an_automatic_title_their_own(db: SessionDB, new_session: NewSession) -> None:
    session_id = new_session(title="as derived", title_source=TitleSource.DERIVED)
    assert rename(db, session_id, "as derived")
    assert not rename(db, session_id, "better", TitleSource.MODEL)


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("x" * 300, "x" * 99 + "…"),
        ("/x", "/x"),
        ("[bold]", "[bold]"),
        ("a\nb", "a b"),
        ("  \x1b[31m red \u202e\u200b", "[31m red"),
        ("👩🏽‍🚀" * 80, "👩🏽‍🚀" * 24 + "…"),
        ("--help", "--help"),
        ("half \ud800", "half"),
    ],
)
def test_E22_a_session_can_be_called_by_whatever_it_was_named(
    db: SessionDB, new_session: NewSession, typed: str, title: str
) -> None:
    new_session(title="another")
    session_id = new_session()
    assert rename(db, session_id, typed)
    assert stored(db, session_id).title == title
    for name in (typed, title, session_id):
        assert [session.id for session in db.read(lambda t, name=name: t.sessions.find(name)).result()] == [session_id]


@pytest.mark.parametrize("typed", ["", " \n", "\u200b\u202e"])
def test_E22_a_name_of_which_nothing_can_be_seen_is_refused(db: SessionDB, new_session: NewSession, typed: str) -> None:
    session_id = new_session(title="kept")
    with pytest.raises(EmptyTitle):
        rename(db, session_id, typed)
    assert not rename(db, session_id, typed, TitleSource.MODEL)
    assert stored(db, session_id).title == "kept"


def test_a_deleted_session_gives_its_title_back(db: SessionDB, new_session: NewSession) -> None:
    gone = new_session(title="mine")
    db.write(lambda t: t.sessions.delete(gone, 2.0)).result()
    assert stored(db, new_session(title="mine")).title == "mine"
    with pytest.raises(SessionDeleted):
        rename(db, gone, "again")
