"""The index follows the rows, comes back whole after any damage, and never stands in the way of a write."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from session import search_index
from session.connection import Connection
from session.db import SessionDB
from session.errors import SearchlessSqlite
from session.models import Message, Role
from session.search import DAMAGED, Found
from session.search_index import SearchIndex

Say = Callable[..., list[Message]]

DAMAGES = [
    "UPDATE messages_fts_data SET block = x'000000ff7f7f7f7f7f7f7f' WHERE id = 10",  # what its parts are
    "DELETE FROM messages_fts_data WHERE id = 10",
    "UPDATE messages_fts_data SET block = x'00ff00ff' WHERE id > 10",  # the parts
    "DELETE FROM messages_fts_data",
    "DROP TABLE messages_fts_data",
    "DROP TABLE messages_fts_idx",
    "DROP TABLE messages_fts_docsize",
    "DROP TABLE messages_fts_config",
    "DROP TABLE messages_fts",
]


def catch_up(connection: Connection) -> None:
    index = SearchIndex(connection)
    while index.catch_up():
        pass


def found_row(session_id: str) -> Message:
    return Message(session_id, Role.USER, "word again", 1.0)


def find(db: SessionDB, query: str) -> Found:
    return db.read(lambda t: t.search.find(query, order="oldest", limit=100)).result()


@pytest.fixture
def damaged(db: SessionDB, db_path: Path, session_id: str, say: Say) -> Callable[[str], None]:
    """Store ten rows with "word" in them, indexed, and do the damage."""

    def harm(statement: str) -> None:
        say(session_id, *(f"user word {number}" for number in range(10)))
        db.aside(catch_up).result()
        db.close()
        other = Connection.to(db_path)
        other.run(statement)
        other.close()

    return harm


@pytest.fixture
def reopened(db_path: Path, damaged: Callable[[str], None]) -> Callable[[str], SessionDB]:
    def open_again(statement: str) -> SessionDB:
        damaged(statement)
        return SessionDB.open(db_path)

    return open_again


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_row_is_stored_and_all_are_found_whatever_befell_the_index(
    reopened: Callable[[str], SessionDB], session_id: str, damage: str
) -> None:
    db = reopened(damage)
    found = find(db, "word")
    assert (len(found.hits), found.note) in [(10, ""), (10, DAMAGED)]
    db.write(lambda t: t.messages.append(found_row(session_id))).result()
    assert len(find(db, "word").hits) == 11
    db.write(lambda t: t.search.rebuild()).result()
    found = find(db, "word")
    assert (len(found.hits), found.note) == (11, "")
    assert db.write(lambda t: t.search.is_whole()).result()
    db.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_session_is_deleted_whatever_befell_the_index(
    reopened: Callable[[str], SessionDB], session_id: str, damage: str
) -> None:
    db = reopened(damage)
    assert db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    db.aside(catch_up).result()
    assert find(db, "word").hits == ()
    db.close()


@pytest.mark.parametrize("damage", ["DELETE FROM messages_fts_data", "DROP TABLE messages_fts_idx", DAMAGES[0]])
def test_what_stops_the_index_from_following_is_mended_and_said_once(
    reopened: Callable[[str], SessionDB], session_id: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    db = reopened(damage)
    db.write(lambda t: t.messages.append(found_row(session_id))).result()
    db.aside(catch_up).result()
    found = find(db, "word")
    assert (len(found.hits), found.note) == (11, "")
    assert db.write(lambda t: t.search.is_whole()).result()
    assert len([record for record in caplog.records if "search index was damaged" in record.message]) == 1
    db.close()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM messages_fts_docsize WHERE id = 5",
        "DELETE FROM messages WHERE id = 5",
        *(damage for damage in DAMAGES if damage != DAMAGES[0]),
    ],
)
def test_an_index_with_a_row_too_few_or_too_many_is_not_whole(
    reopened: Callable[[str], SessionDB], change: str
) -> None:
    db = reopened(change)
    assert not db.write(lambda t: t.search.is_whole()).result()
    assert db.write(lambda t: t.search.rebuild()).result() >= 9
    assert db.write(lambda t: t.search.is_whole()).result()
    db.close()


def test_the_index_follows_the_rows_by_itself(db: SessionDB, session_id: str, say: Say) -> None:
    say(session_id, *("user word" for _ in range(600)))
    deadline = time.monotonic() + 20
    while db.read(lambda t: search_index.indexed_to(t.connection)).result() < 600:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_step_ends_after_so_much_text(db: SessionDB, session_id: str, say: Say) -> None:
    say(session_id, *("user " + "word " * 60_000 for _ in range(4)))
    rest = db.write(lambda t: (t.search.begin_anew(), search_index.index_next(t.connection))[1]).result()
    assert rest


def test_a_sqlite_without_full_text_search_is_told_before_the_file_is_touched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(search_index, "MODULE", "fts99")
    with pytest.raises(SearchlessSqlite, match="FTS5"):
        SessionDB.open(tmp_path / "new.db")
    assert list(tmp_path.iterdir()) == []
