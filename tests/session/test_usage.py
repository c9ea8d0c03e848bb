"""What is kept beside the rows: what was spent, the system prompts, and what waits to be sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from session.db import SessionDB
from session.models import Usage
from session.usage import Spent, day_of

NewSession = Callable[..., str]
USAGE = Usage(input=10, output=5, cache_read=3, cache_write=2, reasoning=1)


def spend(db: SessionDB, session_id: str, model: str, day: str, task: str = "") -> None:
    db.write(lambda t: t.usage.add(session_id, "local", model, day, task, USAGE)).result()


def test_a_session_knows_what_it_took_by_model_and_task(db: SessionDB, new_session: NewSession) -> None:
    session_id, other = new_session(), new_session()
    for day in ("2026-11-28", "2026-11-29", "2026-11-29"):
        spend(db, session_id, "big", day)
    spend(db, session_id, "small", "2026-11-29", "title")
    spend(db, other, "big", "2026-11-29")
    assert db.read(lambda t: t.usage.totals(session_id)).result() == [
        Spent("local", "big", "", 3, Usage(30, 15, 9, 6, 3)),
        Spent("local", "small", "title", 1, USAGE),
    ]


def test_each_day_knows_what_was_spent_also_in_sessions_that_are_gone(db: SessionDB, new_session: NewSession) -> None:
    one, two = new_session(), new_session()
    spend(db, one, "big", "2026-11-27")
    for session_id, day in ((one, "2026-11-28"), (two, "2026-11-28"), (two, "2026-11-29")):
        spend(db, session_id, "big", day)
    db.write(lambda t: t.sessions.delete(two, 9.0)).result()
    assert db.read(lambda t: t.usage.by_day("2026-11-28")).result() == {
        "2026-11-28": [Spent("local", "big", "", 2, USAGE + USAGE)],
        "2026-11-29": [Spent("local", "big", "", 1, USAGE)],
    }


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Move the process to another time zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("zone", "day"), [("UTC", "2026-11-29"), ("XXX-12", "2026-11-30")])
def test_a_day_is_the_day_where_the_person_is(in_zone: Callable[[str], None], zone: str, day: str) -> None:
    in_zone(zone)
    assert day_of(1_795_982_171.5) == day


def test_a_prompt_is_kept_once(db: SessionDB) -> None:
    one, again, other = db.write(
        lambda t: [t.prompts.put(text) for text in ("You are", "You are", "You \ud800")]
    ).result()
    assert one == again != other
    assert db.read(lambda t: (t.prompts.get(one), t.prompts.get(other))).result() == ("You are", "You \ufffd")
    assert db.read(lambda t: t.prompts.get("nothing")).result() == ""


def test_E21_what_waits_to_be_sent_is_there_after_a_kill(
    db: SessionDB, db_path: Path, session_id: str, run_python: Callable[..., object]
) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from session.db import SessionDB
db = SessionDB.open(Path(sys.argv[1]))
for text in ("first", "second\\n line", "sent"):
    last = db.write(lambda t: t.queued.add(sys.argv[2], text, 1.5)).result()
db.write(lambda t: t.queued.remove(last)).result()
os.kill(os.getpid(), signal.SIGKILL)
"""
    run_python(script, db_path, session_id).wait(20)  # type: ignore[attr-defined]
    waiting = db.read(lambda t: t.queued.all(session_id)).result()
    assert [(queued.content, queued.created_at) for queued in waiting] == [("first", 1.5), ("second\n line", 1.5)]
    assert db.read(lambda t: t.queued.all("other")).result() == []
