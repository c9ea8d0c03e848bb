"""What was deleted is gone, and stays gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from session.db import SessionDB
from session.errors import SessionDeleted
from session.models import (
    ApiMode,
    Approval,
    ApprovalRequest,
    EndReason,
    Kind,
    Message,
    Partial,
    Role,
    Route,
    Session,
    TitleSource,
    ToolCall,
    Usage,
)
from session.tables import Tables

NewSession = Callable[..., str]
ROUTE = Route("local", "qwen3:8b", "http://127.0.0.1:11434/v1", ApiMode.CHAT)


def said(session_id: str, text: str = "hello") -> Message:
    return Message(session_id, Role.USER, text, 5.0, calls=(ToolCall("c1", "shell", "{}"),))


def fill(t: Tables, session_id: str) -> None:
    """Something in every table that knows of sessions."""
    t.messages.append(said(session_id, "secret 项目 text"))
    t.partials.append(session_id, Partial("secret"), 1.0)
    t.turns.begin(session_id, 1.0)
    t.calls.mark_started(session_id, "c1", Approval.ALLOWED_ONCE, 1.0)
    t.approvals.open(ApprovalRequest(f"r-{session_id}", session_id, "c1", "shell", "secret", "", 1.0))
    t.queued.add(session_id, "secret", 1.0)
    t.usage.add(session_id, "local", "qwen3:8b", "2026-11-29", "", Usage(input=3))
    t.sessions.set_prompt(session_id, t.prompts.put(f"secret prompt of {session_id}"))


def rows_about(db_path: Path, session_id: str) -> dict[str, int]:
    """How many rows each table with a column `session_id` has for one."""
    with closing(sqlite3.connect(db_path)) as raw:
        tables = raw.execute(
            "SELECT held.name FROM sqlite_schema AS held JOIN pragma_table_info(held.name) AS named "
            "WHERE held.type = 'table' AND named.name = 'session_id'"
        ).fetchall()
        counted = {
            name: raw.execute(f'SELECT count(*) FROM "{name}" WHERE session_id = ?', (session_id,)).fetchone()[0]
            for (name,) in tables
        }
    return {name: n for name, n in counted.items() if n}


def test_deleting_removes_every_word_and_nothing_of_others(
    db: SessionDB, db_path: Path, new_session: NewSession
) -> None:
    gone, kept = new_session(), new_session()
    for session_id in (gone, kept):
        db.write(lambda t, session_id=session_id: fill(t, session_id)).result()
    before = rows_about(db_path, kept)
    assert db.write(lambda t: t.sessions.delete(gone, 9.0)).result()
    assert rows_about(db_path, gone) == {"usage": 1}  # what was spent stays spent
    assert rows_about(db_path, kept) == before
    assert len(before) >= 7
    with closing(sqlite3.connect(db_path)) as raw:
        assert raw.execute("SELECT text FROM prompts").fetchall() == [(f"secret prompt of {kept}",)]


def test_deleting_is_told_once(db: SessionDB, session_id: str) -> None:
    assert db.write(lambda t: t.sessions.delete(session_id, 9.0)).result()
    assert not db.write(lambda t: t.sessions.delete(session_id, 10.0)).result()
    assert not db.write(lambda t: t.sessions.delete("nobody", 9.0)).result()


def test_a_prompt_that_others_use_stays(db: SessionDB, new_session: NewSession) -> None:
    one, two = new_session(), new_session()

    def share(t: Tables) -> str:
        prompt = t.prompts.put("shared")
        for session_id in (one, two):
            t.sessions.set_prompt(session_id, prompt)
        t.sessions.delete(one, 9.0)
        return prompt

    prompt = db.write(share).result()
    assert db.read(lambda t: t.prompts.get(prompt)).result() == "shared"


WRITES: dict[str, Callable[[Tables, str], object]] = {
    "append": lambda t, s: t.messages.append(said(s)),
    "title": lambda t, s: t.sessions.set_title(s, "back", TitleSource.PERSON),
    "route": lambda t, s: t.sessions.set_route(s, ROUTE),
    "personality": lambda t, s: t.sessions.set_personality(s, "pirate"),
    "prompt": lambda t, s: t.sessions.set_prompt(s, "abc"),
    "pin": lambda t, s: t.sessions.set_pinned(s, is_pinned=True),
    "source": lambda t, s: t.sessions.claim_source(s, "tui"),
    "reopen": lambda t, s: t.sessions.reopen(s),
    "unarchive": lambda t, s: t.sessions.unarchive(s),
    "relink": lambda t, s: t.sessions.relink(s, "/w", "/w"),
    "queue": lambda t, s: t.queued.add(s, "later", 1.0),
    "partial": lambda t, s: t.partials.append(s, Partial("more"), 1.0),
    "turn": lambda t, s: t.turns.begin(s, 1.0),
    "call": lambda t, s: t.calls.mark_started(s, "c1", Approval.ALLOWED_ONCE, 1.0),
    "request": lambda t, s: t.approvals.open(ApprovalRequest("r", s, "c1", "shell", "ls", "", 1.0)),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_E18_nothing_is_written_into_a_deleted_session(
    db: SessionDB, db_path: Path, session_id: str, write: Callable[[Tables, str], object]
) -> None:
    db.write(lambda t: t.sessions.delete(session_id, 9.0)).result()
    with pytest.raises(SessionDeleted, match=session_id):
        db.write(lambda t: write(t, session_id)).result()
    assert rows_about(db_path, session_id) == {}
    with pytest.raises(SessionDeleted):
        db.write(lambda t: write(t, "never-there")).result()


@pytest.mark.parametrize("reason", EndReason)
def test_ending_what_is_gone_is_no_error_and_changes_nothing(db: SessionDB, session_id: str, reason: EndReason) -> None:
    db.write(lambda t: t.sessions.delete(session_id, 9.0)).result()
    db.write(lambda t: t.sessions.end(session_id, reason, 10.0)).result()
    db.write(lambda t: t.sessions.mark_read(session_id, 10.0)).result()
    assert db.read(lambda t: t.sessions.is_deleted(session_id)).result()


def test_E18_a_second_process_cannot_bring_a_deleted_session_back(
    db: SessionDB, db_path: Path, session_id: str, run_python: Callable[..., object]
) -> None:
    """It had the session open before; its next row is refused, and the session is not there after that."""
    script = """
import sys
from pathlib import Path
from session.db import SessionDB
from session.errors import SessionDeleted
from session.models import Message, Role
db = SessionDB.open(Path(sys.argv[1]))
row = Message(sys.argv[2], Role.USER, "first", 1.0)
db.write(lambda t: t.messages.append(row)).result()
print("open", flush=True)
sys.stdin.readline()
try:
    db.write(lambda t: t.messages.append(row)).result()
except SessionDeleted as error:
    print(error, flush=True)
"""
    other = run_python(script, db_path, session_id)
    assert other.stdout.readline() == "open\n"  # type: ignore[attr-defined]
    db.write(lambda t: t.sessions.delete(session_id, 9.0)).result()
    told, _ = other.communicate("go\n", timeout=20)  # type: ignore[attr-defined]
    assert told.startswith(f"Session {session_id} was deleted")
    assert rows_about(db_path, session_id) == {}
    assert db.read(lambda t: t.sessions.listing()).result() == []


def test_what_came_from_a_deleted_session_lives_on(db: SessionDB, new_session: NewSession) -> None:
    parent = new_session()
    child = new_session(parent_id=parent, kind=Kind.BRANCH)
    db.write(lambda t: t.sessions.delete(parent, 9.0)).result()
    db.write(lambda t: t.messages.append(said(child))).result()
    session: Session | None = db.read(lambda t: t.sessions.get(child)).result()
    assert session
    assert session.parent_id == parent
    assert [row.id for row in db.read(lambda t: t.sessions.listing()).result()] == [child]
