"""What a store says of itself is what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from session.db import SessionDB
from session.models import EndReason, Message, Usage
from session.statistics import FileSize, statistics

NewSession = Callable[..., str]


def test_sessions_messages_and_tokens_are_counted(
    db: SessionDB, new_session: NewSession, say: Callable[..., list[Message]], db_path: Path
) -> None:
    one, gone = new_session(is_pinned=True), new_session()
    new_session(is_archived=True, ended_at=1.0, end_reason=EndReason.ARCHIVED)
    say(one, "user hi", "answer hello")
    spendings = [("m", "2026-11-28", "", 10), ("m", "2026-11-29", "", 20), ("small", "2026-11-29", "title", 5)]
    for model, day, task, tokens in spendings:
        usage = Usage(input=tokens, output=1)
        db.write(lambda t, m=model, d=day, k=task, u=usage: t.usage.add(one, "p", m, d, k, u)).result()
    db.write(lambda t: t.sessions.delete(gone, 1.0)).result()
    db.write(lambda t: t.search.rebuild()).result()
    found = db.read(lambda t: statistics(t, db_path)).result()
    assert (found.sessions, found.pinned, found.archived, found.ended, found.deleted) == (2, 1, 1, 1, 1)
    assert (found.messages, found.unindexed) == (2, 0)
    assert [(spent.model, spent.task, spent.requests, spent.usage) for spent in found.models] == [
        ("m", "", 2, Usage(input=30, output=2)),
        ("small", "title", 1, Usage(input=5, output=1)),
    ]
    assert found.days == {"2026-11-28": Usage(input=10, output=1), "2026-11-29": Usage(input=25, output=2)}
    assert found.size == FileSize(db_path.stat().st_size, db_path.with_name("state.db-wal").stat().st_size, 0)


def test_an_empty_store_holds_nothing(db: SessionDB, db_path: Path) -> None:
    found = db.read(lambda t: statistics(t, db_path)).result()
    assert (found.sessions, found.messages, found.models, found.days) == (0, 0, (), {})
