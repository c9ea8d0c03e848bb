"""What was exported comes back to the byte, all of it or nothing; importing twice changes nothing."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from session.db import SessionDB
from session.export import export_jsonl
from session.import_jsonl import import_jsonl
from session.imported import Imported, NewerExport, RefusedImport
from session.invariants import violations
from session.models import (
    ApiMode,
    Approval,
    CallOutcome,
    CallResult,
    EndReason,
    Finish,
    Level,
    Message,
    Role,
    Route,
    Session,
    TitleSource,
    ToolCall,
    Usage,
)
from session.usage import day_of

EXAMPLES = max(15, int(os.environ.get("HERMES_SOAK") or 0))
numbered = itertools.count()

texts = st.text(st.sampled_from('\u2028\u2029\0\x85\u202e\u2066漢字かな\r\n"\\{}[]\x1b👩🏽‍🚀ab')) | st.text(
    st.characters(exclude_categories=[]), max_size=30
)
names = st.text("abc", min_size=1, max_size=8)
numbers = st.integers(0, 2**53)
times = st.floats(0, 4e9)
json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
usages = st.builds(Usage, numbers, numbers, numbers, numbers, numbers)
results = st.builds(
    CallResult,
    texts,
    texts,
    st.sampled_from(CallOutcome),
    st.sampled_from(Approval),
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1),
    texts,
    times,
)
messages = st.builds(
    Message,
    st.just(""),
    st.sampled_from(Role),
    texts,
    times,
    reasoning=texts,
    refusal=texts,
    calls=st.lists(st.builds(ToolCall, texts, texts, texts, st.booleans()), max_size=3).map(tuple),
    finish=st.none() | st.sampled_from(Finish),
    usage=st.none() | usages,
    result=st.none() | results,
    level=st.sampled_from(Level),
    sent=texts,
    parts=st.lists(st.dictionaries(names, json_texts), max_size=2).map(
        lambda value: json.dumps(value) if value else ""
    ),
    extras=st.dictionaries(names, json_texts).map(lambda value: json.dumps(value, indent=1) if value else ""),
)
sessions = st.builds(
    Session,
    names.map(lambda name: f"p-{name}"),
    texts,
    texts,
    st.sampled_from(TitleSource),
    texts,
    texts,
    times,
    times,
    route=st.none() | st.builds(Route, texts, texts, texts, st.sampled_from(ApiMode), texts, st.none() | numbers),
    personality=texts,
    ended_at=st.none() | times,
    end_reason=st.sampled_from([None, EndReason.NEW, EndReason.ARCHIVED]),
    profile=texts,
    is_pinned=st.booleans(),
    is_archived=st.booleans(),
    last_read_at=times,
)


def exported(db: SessionDB, *ids: str) -> str:
    return db.read(lambda t: "".join(export_jsonl(t, ids))).result()


@pytest.fixture
def export_to(db: SessionDB, tmp_path: Path) -> Callable[..., Path]:
    """Export sessions of the store into a file; its path."""

    def export(*ids: str, name: str = "out.jsonl") -> Path:
        (tmp_path / name).write_text(exported(db, *ids), newline="")
        return tmp_path / name

    return export


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SessionDB]:
    """Another store, empty."""
    with closing(SessionDB.open(tmp_path / "other.db")) as store:
        yield store


def content(store: SessionDB) -> object:
    """All that a store holds in the tables that an import writes to."""
    tables = ("sessions", "messages", "usage", "prompts")
    return store.read(lambda t: [t.connection.rows(f"SELECT * FROM {name}") for name in tables]).result()


@contextmanager
def empty_store() -> Iterator[tuple[SessionDB, Path]]:
    with tempfile.TemporaryDirectory() as folder, closing(SessionDB.open(Path(folder) / "s.db")) as store:
        yield store, Path(folder) / "in.jsonl"


@pytest.mark.soak
@pytest.mark.timeout(1200 if os.environ.get("HERMES_SOAK") else 30)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES, deadline=None)
@given(session=sessions, rows=st.lists(messages, max_size=6), usage=usages, prompt=texts)
def test_an_imported_session_is_exported_to_the_byte_as_it_was(
    db: SessionDB, session: Session, rows: list[Message], usage: Usage, prompt: str
) -> None:
    session = replace(session, id=f"{session.id}-{next(numbered)}")
    db.write(lambda t: store_session(t, session, rows, usage, prompt)).result()
    before = exported(db, session.id)
    with empty_store() as (target, path):
        path.write_text(before, newline="")
        assert import_jsonl(target, path) == Imported(1, len(rows), 0, ())
        assert exported(target, session.id) == before


def fill_up(store: SessionDB) -> None:
    """Another session, so that no id is what it would be in an empty store."""
    other = Session("other", "tui", "", TitleSource.DERIVED, "", "", 1.0, 1.0)
    store.write(
        lambda t: [t.sessions.create(other), *(t.messages.append(Message("other", Role.USER, "x", 1.0)) for _ in "abc")]
    ).result()


def store_session(tables, session: Session, rows: list[Message], usage: Usage, prompt: str) -> None:
    tables.sessions.create(replace(session, prompt_hash=tables.prompts.put(prompt)))
    for row in rows:
        tables.messages.append(replace(row, session_id=session.id))
    tables.usage.add(session.id, "p", "m", day_of(1e9), "", usage)
    tables.usage.add(session.id, "p", "m", day_of(1e9), "title", usage)


@pytest.mark.parametrize("seed", range(8))
def test_branches_rewinds_and_summaries_come_back_as_they_were(
    db: SessionDB, other: SessionDB, new_session, say, export_to, seed: int
) -> None:
    ids = a_life(db, new_session, say, Random(seed))
    before = exported(db, *ids)
    imported = import_jsonl(other, export_to(*ids))
    assert imported.sessions == len(ids)
    assert exported(other, *ids) == before
    for session_id in ids:
        assert other.read(lambda t, s=session_id: violations(t, s)).result() == []
        places = [
            [row.content for row in store.read(lambda t, s=session_id: t.messages.all(s)).result()]
            for store in (db, other)
        ]
        assert places[0] == places[1]


def a_life(db: SessionDB, new_session, say, random: Random) -> list[str]:
    """What befalls a few sessions that come from one another, their rows mixed with each other's."""
    ids = [new_session(title="root")]
    for step in range(25):
        session_id = random.choice(ids)
        rows = db.read(lambda t, s=session_id: t.messages.all(s)).result()
        prompts = [row for row in rows if row.role is Role.USER and not row.is_summary]
        revision = db.read(lambda t, s=session_id: t.sessions.get(s).revision).result()
        match random.choice(["say", "say", "call", "branch", "rewind", "swap"]):
            case "branch" if rows:
                new_id, at = f"branch{step}", random.choice(rows).id
                db.write(lambda t, s=session_id, n=new_id, a=at: t.lineage.branch(s, a, n, 2.0)).result()
                ids.append(new_id)
            case "rewind" if prompts:
                at = random.choice(prompts).id
                db.write(lambda t, s=session_id, a=at: t.lineage.rewind(s, a, 2.0)).result()
            case "swap" if len(prompts) > 1:
                summary, at = Message("", Role.USER, f"summary {step}", 2.0), prompts[-1].id
                first = rows[0].id if random.random() < 0.5 or any(row.is_summary for row in rows) else prompts[0].id
                if first == at:
                    continue
                db.write(
                    lambda t, s=session_id, f=first, a=at, m=summary, r=revision: t.lineage.swap(s, f, a, m, r)
                ).result()
            case "call":
                say(
                    session_id,
                    f"user do {step}",
                    f"calls {session_id}-{step}",
                    f"result {session_id}-{step}",
                    "answer ok",
                )
            case _:
                say(session_id, f"user ask {step}", f"answer {step}")
    return ids


def test_a_copy_still_stands_at_the_place_of_its_original(
    db: SessionDB, other: SessionDB, new_session, say, export_to
) -> None:
    session_id = new_session()
    _, answer = say(session_id, "user a", "answer b")
    db.write(lambda t: t.lineage.branch(session_id, answer.id, "copy", 2.0)).result()
    fill_up(other)
    import_jsonl(other, export_to("copy", session_id))
    places = [
        other.read(lambda t, s=s: t.connection.rows("SELECT position FROM messages WHERE session_id = ?", s)).result()
        for s in (session_id, "copy")
    ]
    assert places[0] == places[1]
    branch = other.read(lambda t: t.sessions.get("copy")).result()
    last = other.read(lambda t: t.messages.all(session_id)).result()[-1]
    assert (branch.parent_id, branch.branched_at) == (session_id, last.id)


def test_a_branch_that_is_exported_alone_stands_alone(db, other, new_session, say, export_to) -> None:
    session_id = new_session()
    [row] = say(session_id, "user a")
    db.write(lambda t: t.lineage.branch(session_id, row.id, "alone", 2.0)).result()
    import_jsonl(other, export_to("alone"))
    assert exported(other, "alone") == exported(db, "alone")
    assert other.read(lambda t: t.sessions.get("alone").parent_id).result() == ""


def test_importing_twice_changes_nothing(other, new_session, say, export_to) -> None:
    ids = [new_session(title="a"), new_session(title="b")]
    say(ids[0], "user a", "answer b")
    path = export_to(*ids)
    import_jsonl(other, path)
    before = content(other)
    assert import_jsonl(other, path) == Imported(0, 0, 2, ("2 sessions: already here.",))
    assert content(other) == before


def test_a_session_that_went_on_since_is_left_as_it_is(db, new_session, say, export_to) -> None:
    session_id = new_session()
    first, _, kept = say(session_id, "user a", "answer b", "user c")
    path = export_to(session_id)
    say(session_id, "answer d")
    summary = Message("", Role.USER, "short", 2.0)
    db.write(lambda t: t.lineage.swap(session_id, first.id, kept.id, summary, 0)).result()
    db.write(lambda t: t.sessions.mark_read(session_id, 99.0)).result()
    before = content(db)
    assert import_jsonl(db, path).skipped == 1
    assert content(db) == before


def test_another_conversation_under_the_same_id_gets_one_of_its_own_once(
    db, other, new_session, say, export_to
) -> None:
    session_id = new_session(title="same")
    row = say(session_id, "user here", "answer b")[-1]
    db.write(lambda t: t.lineage.branch(session_id, row.id, "child", 2.0)).result()
    path = export_to("child", session_id)
    theirs = Session(session_id, "tui", "same", TitleSource.PERSON, "", "", 1.0, 1.0)
    other.write(
        lambda t: (t.sessions.create(theirs), t.messages.append(Message(session_id, Role.USER, "there", 1.0)))
    ).result()
    assert import_jsonl(other, path).sessions == 2
    child = other.read(lambda t: t.sessions.get("child")).result()
    parent = other.read(lambda t: t.sessions.get(child.parent_id)).result()
    assert parent.id != session_id
    assert parent.title == "same #2"
    assert [row.content for row in other.read(lambda t: t.messages.all(parent.id)).result()] == ["here", "b"]
    before = content(other)
    assert import_jsonl(other, path).skipped == 2
    assert content(other) == before


def test_a_deleted_session_comes_back_under_another_id_and_only_once(db, new_session, say, export_to) -> None:
    session_id = new_session()
    say(session_id, "user a")
    path = export_to(session_id)
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    assert import_jsonl(db, path).sessions == 1
    assert db.read(lambda t: t.sessions.get(session_id)).result() is None
    assert import_jsonl(db, path) == Imported(0, 0, 1, ("1 session: already here.",))


def test_a_file_does_not_say_where_a_key_is_sent(other, new_session, export_to) -> None:
    route = Route("openai", "m", "https://api.openai.com/v1", ApiMode.CHAT, "OPENAI_API_KEY")
    session_id = new_session(route=route)
    path = export_to(session_id)
    forged = json.loads(path.read_text())
    forged["route"] |= {"base_url": "https://evil.test/v1", "key_ref": "OPENAI_API_KEY"}
    with pytest.raises(RefusedImport, match="unknown field"):
        import_jsonl(other, rewritten(path, [forged]))
    import_jsonl(other, export_to(session_id, name="good.jsonl"))
    assert other.read(lambda t: t.sessions.get(session_id).route).result() == Route("openai", "m", "", ApiMode.CHAT)


def rewritten(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_newer_file_is_refused_with_both_versions_named(other, new_session, export_to) -> None:
    path = export_to(new_session())
    record = json.loads(path.read_text()) | {"version": 7, "telepathy": True}
    before = content(other)
    with pytest.raises(NewerExport, match=r"format 7; this one knows up to 1\)"):
        import_jsonl(other, rewritten(path, [record]))
    assert content(other) == before


Records = list[dict[str, object]]


@pytest.fixture(scope="module")
def target() -> Iterator[SessionDB]:
    """A store into which nothing ever gets."""
    with empty_store() as (store, _):
        fill_up(store)
        yield store


@pytest.fixture(scope="module")
def good() -> bytes:
    """Two sessions with three rows, as they are exported."""
    with empty_store() as (store, _):
        for id_, *said in (("a", "one", "two"), ("b", "three")):
            session = Session(id_, "tui", "", TitleSource.DERIVED, "", "", 1.0, 1.0)
            store.write(lambda t, session=session: t.sessions.create(session)).result()
            for text in said:
                row = Message(id_, Role.USER, text, 1.0)
                store.write(lambda t, row=row: t.messages.append(row)).result()
        return exported(store, "a", "b").encode()


def refusal(store: SessionDB, path: Path) -> str:
    before = content(store)
    with pytest.raises(RefusedImport, match="nothing was changed") as refused:
        import_jsonl(store, path)
    assert content(store) == before
    return str(refused.value)


def change(line: int, **fields: object) -> Callable[[Records], Records]:
    return lambda records: [record | (fields if number == line else {}) for number, record in enumerate(records, 1)]


@pytest.mark.parametrize(
    ("forge", "line"),
    [
        (change(1, format="chat"), 1),
        (change(1, id="../../etc"), 1),
        (change(1, id=""), 1),
        (change(1, colour="red"), 1),
        (change(1, messages=-1), 1),
        (change(1, messages=10**9), 1),
        (change(1, created_at="noon"), 1),
        (change(1, created_at=1e300), 1),
        (change(1, end_reason="deleted"), 1),
        (change(1, parent_id="s"), 1),
        (change(1, usage=[{"provider": "p", "model": "m", "day": "2026-01-01"}] * 2), 1),
        (change(1, usage=[{"provider": "p", "model": "m", "day": "today"}]), 1),
        (change(2, role="ghost"), 2),
        (change(2, content=5), 2),
        (change(2, is_active=False), 2),
        (change(2, rewound_by=1), 2),
        (change(2, is_active=False, rewound_by=1), 2),
        (change(2, position=1), 2),
        (change(2, copy_of=1), 2),
        (change(3, position=1), None),
        (change(3, parts="{"), 3),
        (change(3, extras="[]"), 3),
        (change(3, colour="red"), 3),
        (change(3, calls=[{"id": "c", "name": "n", "arguments": "{}", "colour": "red"}]), 3),
        (change(3, result={"call_id": "c", "tool": "t", "outcome": "ok", "approval": "denied", "exit_code": 2**70}), 3),
        (change(4, sessions_left=4), 4),
        (lambda records: records[:-1], None),
        (lambda records: records[:3], None),
        (lambda records: records[:2], None),
        (lambda records: records[1:], 1),
        (lambda records: [*records, records[1]], 6),
        (lambda records: [*records[:3], records[3] | {"id": records[0]["id"]}, *records[4:]], None),
        (change(1, parent_id="b", kind="branch"), None),
        (change(1, parent_id="nobody", kind="branch"), None),
    ],
)  # fmt: skip
def test_a_file_that_is_not_what_it_should_be_is_refused_whole(
    target, good: bytes, tmp_path: Path, forge: Callable[[Records], Records], line: int | None
) -> None:
    records = [json.loads(text) for text in good.splitlines()]
    assert len(records) == 5
    forged = forge(records)
    if forged[0].get("parent_id") == "b":
        forged[3] |= {"parent_id": "a", "kind": "branch"}
    sentence = refusal(target, rewritten(tmp_path / "in.jsonl", forged))
    assert line is None or f"in line {line}, " in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"hello\n",
        lambda data: b"\n" + data,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"one", b"\xff\xfe"),
        lambda data: data.replace(b'"two"', b'"\\ud800"'),
        lambda data: data.replace(b'"two"', b"[" * 200_000),
        lambda data: data + b"\n",
    ],
    ids=["empty", "text", "blank", "bom", "no end", "half", "no utf-8", "surrogate", "deep", "more"],
)
def test_a_file_that_is_broken_is_refused_whole(
    target, good: bytes, tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(spoil(good))
    refusal(target, path)


def test_a_line_of_100_megabytes_is_refused(target, good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(good)
    os.truncate(path, len(good) + 100_000_000)
    assert "in line 6, there are more than 64 MiB" in refusal(target, path)


def test_a_file_that_changes_while_it_is_read_is_refused_whole(
    target, good: bytes, tmp_path: Path, monkeypatch
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(good)
    write = target.write

    def change_first(fn, **options):
        path.write_bytes(good.replace(b"three", b"seven"))
        return write(fn, **options)

    monkeypatch.setattr(target, "write", change_first)
    assert "it was changed meanwhile" in refusal(target, path)


def test_a_folder_or_no_file_at_all_is_a_sentence(target, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        refusal(target, path)


def test_what_was_imported_can_be_searched(other, new_session, say, export_to) -> None:
    session_id = new_session()
    say(session_id, "user marmalade")
    import_jsonl(other, export_to(session_id))
    found = other.read(lambda t: t.search.find("marmalade")).result()
    assert [hit.session_id for hit in found.hits] == [session_id]
