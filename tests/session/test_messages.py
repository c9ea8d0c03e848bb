"""Rows come back as they were given."""

from __future__ import annotations

import json
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
from session.errors import SessionDeleted
from session.json_columns import UnreadableColumn
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
calls = st.builds(ToolCall, texts, texts, texts, st.booleans())
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
    texts,
    st.just("") | st.lists(st.dictionaries(texts, texts | numbers, max_size=2), max_size=2).map(json.dumps),
    st.just("") | st.dictionaries(texts, st.none() | st.lists(texts, max_size=2), max_size=2).map(json.dumps),
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
    fixed = with_repaired_texts(row)
    # A pair of halves is as good as its character, but it is not what was given.
    return replace(fixed, is_mended=fixed != row)


def with_repaired_texts(row: Message) -> Message:
    return replace(
        row,
        content=repaired(row.content),
        reasoning=repaired(row.reasoning),
        refusal=repaired(row.refusal),
        sent=repaired(row.sent),
        calls=tuple(ToolCall(repaired(c.id), repaired(c.name), repaired(c.arguments), c.is_masked) for c in row.calls),
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


def test_a_lone_surrogate_becomes_a_replacement_character_and_the_row_says_so(db: SessionDB, session_id: str) -> None:
    row = Message(session_id, Role.USER, "a\ud800b", 1.0, calls=(ToolCall("c", "n", "\udfff"),))
    stored = db.write(lambda t: t.messages.append(row)).result()
    assert (stored.content, stored.calls[0].arguments) == ("a\ufffdb", "\ufffd")
    assert stored.is_mended
    other = db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "a\ufffdb", 1.0))).result()
    assert not other.is_mended
    assert db.read(lambda t: t.messages.all(session_id)).result() == [stored, other]


def test_pages_go_back_from_the_end(db: SessionDB, new_session: Callable[..., str], say: Callable[..., object]) -> None:
    session_id, other = new_session(), new_session()
    for number in range(7):
        say(session_id, f"user {number}")
        say(other, "user elsewhere")
    pages: list[list[Message]] = []
    before: int | None = None
    while page := db.read(lambda t, before=before: t.messages.page(session_id, before, 3)).result():
        pages.append(page)
        before = page[0].id
    assert [[row.content for row in page] for page in pages] == [["4", "5", "6"], ["1", "2", "3"], ["0"]]
    assert db.read(lambda t: t.messages.count(session_id)).result() == 7


def test_a_row_makes_its_session_the_last_active(db: SessionDB, session_id: str) -> None:
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "", 9.0))).result()
    db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "", 5.0))).result()
    session = db.read(lambda t: t.sessions.get(session_id)).result()
    assert session and session.last_activity_at == 9.0


def test_a_row_needs_its_session(db: SessionDB) -> None:
    with pytest.raises(SessionDeleted):
        db.write(lambda t: t.messages.append(Message("nobody", Role.USER, "", 1.0))).result()


@pytest.mark.parametrize(
    "fields",
    [{"parts": "{}"}, {"parts": "[1]"}, {"parts": "[{"}, {"extras": "[]"}, {"extras": "null"}, {"extras": "{"}],
)
def test_what_could_not_be_read_again_is_not_stored(db: SessionDB, session_id: str, fields: dict[str, str]) -> None:
    with pytest.raises(UnreadableColumn):
        db.write(lambda t: t.messages.append(Message(session_id, Role.USER, "", 1.0, **fields))).result()
    assert db.read(lambda t: t.messages.count(session_id)).result() == 0


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
