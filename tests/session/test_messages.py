"""Rows come back as they were given, and one that is damaged does not close its session."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from session.db import SessionDB
from session.models import (
    Approval,
    CallOutcome,
    CallResult,
    Finish,
    Level,
    Message,
    Partial,
    Role,
    ToolCall,
    Usage,
)

ONE_STORE_FOR_ALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)

texts = st.text(st.characters(exclude_categories=[]), max_size=40)
numbers = st.integers(0, 2**53)
calls = st.builds(ToolCall, texts, texts, texts)
results = st.builds(
    CallResult,
    texts,
    texts,
    st.sampled_from(CallOutcome),
    st.sampled_from(Approval),
    st.none() | st.integers(-255, 255),
    texts,
    st.floats(0, 1e9),
)
messages = st.builds(
    Message,
    st.just(""),
    st.sampled_from(Role),
    texts,
    st.floats(0, 1e12),
    st.just(0),
    texts,
    texts,
    st.lists(calls, max_size=3).map(tuple),
    st.none() | st.sampled_from(Finish),
    st.none() | st.builds(Usage, numbers, numbers, numbers, numbers, numbers),
    st.none() | results,
    st.sampled_from(Level),
)


def repaired(text: str) -> str:
    """Halves that meet make their character; what then is left alone becomes U+FFFD."""
    joined = re.sub(
        "[\ud800-\udbff][\udc00-\udfff]",
        lambda m: chr(0x10000 + (ord(m[0][0]) - 0xD800) * 0x400 + ord(m[0][1]) - 0xDC00),
        text,
    )
    return re.sub("[\ud800-\udfff]", "\ufffd", joined)


def repaired_row(row: Message) -> Message:
    return replace(
        row,
        content=repaired(row.content),
        reasoning=repaired(row.reasoning),
        refusal=repaired(row.refusal),
        calls=tuple(ToolCall(repaired(c.id), repaired(c.name), repaired(c.arguments)) for c in row.calls),
        result=row.result
        and replace(
            row.result,
            call_id=repaired(row.result.call_id),
            tool=repaired(row.result.tool),
            cause=repaired(row.result.cause),
        ),
    )


@ONE_STORE_FOR_ALL
@given(row=messages)
def test_every_field_comes_back(db: SessionDB, new_session: Callable[..., str], row: Message) -> None:
    row = replace(row, session_id=new_session())
    stored = db.write(lambda t: t.messages.append(row)).result()
    assert stored == replace(repaired_row(row), id=stored.id)
    assert db.read(lambda t: t.messages.all(row.session_id)).result() == [stored]


@pytest.mark.parametrize(
    "text",
    ["a\u2028b\u2029c\x85d", "a\0b\0", "x" * 5_000_000, "👩🏽‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\r\n\x1b[31m\x7f", "'; DROP TABLE messages; --"],
    ids=["separators", "nul", "5 MB", "emoji", "controls", "sql"],
)
def test_text_is_kept_to_the_byte(db: SessionDB, session_id: str, text: str) -> None:
    row = Message(session_id, Role.ASSISTANT, text, 1.0, calls=(ToolCall("c", "n", text),))
    stored = db.write(lambda t: t.messages.append(row)).result()
    assert (stored.content, stored.calls[0].arguments) == (text, text)


def test_a_lone_surrogate_becomes_a_replacement_character(db: SessionDB, session_id: str) -> None:
    row = Message(session_id, Role.USER, "a\ud800b", 1.0, calls=(ToolCall("c", "n", "\udfff"),))
    stored = db.write(lambda t: t.messages.append(row)).result()
    assert (stored.content, stored.calls[0].arguments) == ("a\ufffdb", "\ufffd")


def test_the_tail_is_the_last_rows_in_order(db: SessionDB, session_id: str) -> None:
    for number in range(5):
        row = Message(session_id, Role.USER, str(number), 1.0)
        db.write(lambda t, row=row: t.messages.append(row)).result()
    tail = db.read(lambda t: t.messages.tail(session_id, 3)).result()
    assert [row.content for row in tail] == ["2", "3", "4"]
    assert db.read(lambda t: t.messages.count(session_id)).result() == 5


def test_a_row_makes_its_session_the_last_active(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "", 9.0))).result()
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "", 5.0))).result()
    session = db.read(lambda t: t.sessions.get(session_id)).result()
    assert session and session.last_activity_at == 9.0


def test_a_row_needs_its_session(db: SessionDB) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        db.write(lambda t: t.messages.append(Message("nobody", Role.USER, "", 1.0))).result()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("calls", "[{"),
        ("calls", '{"id": 1}'),
        ("calls", '[{"id": "c"}]'),
        ("calls", "[" * 100_000),
        ("usage", "null"),
        ("role", "ghost"),
        ("finish", "sideways"),
        ("content", b"\xff\0"),
        ("created_at", "noon"),
    ],
)
def test_a_damaged_row_stands_as_a_notice_among_the_others(
    db: SessionDB, db_path: Path, session_id: str, column: str, value: object
) -> None:
    before, damaged, after = (
        db.write(lambda t: t.messages.append(Message(session_id, Role.ASSISTANT, "row", 1.0))).result()
        for _ in range(3)
    )
    with closing(sqlite3.connect(db_path)) as raw, raw:
        raw.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", (value, damaged.id))
    rows = db.read(lambda t: t.messages.all(session_id)).result()
    assert (rows[0], rows[2]) == (before, after)
    assert rows[1].role is Role.NOTICE
    assert rows[1].id == damaged.id
    assert rows[1].content.startswith(f"[damaged row {damaged.id}: ")


def test_text_that_is_no_utf8_is_shown_as_far_as_it_goes(db: SessionDB, db_path: Path, session_id: str) -> None:
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "row", 1.0))).result()
    with closing(sqlite3.connect(db_path)) as raw, raw:
        raw.execute("UPDATE messages SET content = CAST(x'61ff62' AS TEXT)")
    (row,) = db.read(lambda t: t.messages.all(session_id)).result()
    assert row.content == "a\ufffdb"


@ONE_STORE_FOR_ALL
@given(pieces=st.lists(st.builds(Partial, texts, texts, texts), max_size=5))
def test_a_partial_is_the_sum_of_its_pieces(
    db: SessionDB, new_session: Callable[..., str], pieces: list[Partial]
) -> None:
    session_id, other = new_session(), new_session()
    db.write(lambda t: t.partials.append(other, Partial("another session's"), 1.0)).result()
    for piece in pieces:
        db.write(lambda t, piece=piece: t.partials.append(session_id, piece, 1.0)).result()
    held = db.read(lambda t: t.partials.read(session_id)).result()
    assert held == Partial(
        "".join(repaired(piece.content) for piece in pieces),
        "".join(repaired(piece.reasoning) for piece in pieces),
        "".join(repaired(piece.refusal) for piece in pieces),
    )
    db.write(lambda t: t.partials.clear(session_id)).result()
    assert not db.read(lambda t: t.partials.read(session_id)).result()
    assert db.read(lambda t: t.partials.read(other)).result()
