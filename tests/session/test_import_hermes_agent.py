"""The conversations of the original come over, whatever state they are in, and its file is only read."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session.db import SessionDB
from session.import_hermes_agent import import_hermes_agent
from session.imported import RefusedImport
from session.invariants import violations
from session.models import CallOutcome, EndReason, Finish, Kind, Message, Role, Session, TitleSource

EXAMPLES = max(15, int(os.environ.get("HERMES_SOAK") or 0))
numbered = itertools.count()

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] what was said"

# The columns that version 22 of its file has, as far as they are read. Later versions have more.
SESSIONS = """id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT, parent_session_id TEXT,
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, cwd TEXT, git_repo_root TEXT,
    billing_provider TEXT, billing_base_url TEXT, title TEXT, api_call_count INTEGER DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0"""
MESSAGES = """id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, effect_disposition TEXT, timestamp REAL NOT NULL,
    finish_reason TEXT, reasoning TEXT, reasoning_content TEXT, reasoning_details TEXT, codex_reasoning_items TEXT,
    codex_message_items TEXT, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT"""
USAGE = """session_id TEXT NOT NULL, model TEXT NOT NULL, billing_provider TEXT NOT NULL DEFAULT '',
    billing_base_url TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', api_call_count INTEGER, input_tokens INTEGER,
    output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER, last_seen REAL"""


class Original:
    """Its file, as it would be while it runs: in WAL mode and open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = sqlite3.connect(path, isolation_level=None)
        self.raw.execute("PRAGMA journal_mode = WAL")
        self.raw.execute(f"CREATE TABLE sessions ({SESSIONS})")
        self.raw.execute(f"CREATE TABLE messages ({MESSAGES})")
        self.raw.execute(f"CREATE TABLE session_model_usage ({USAGE})")
        self.raw.execute("CREATE INDEX messages_of_session ON messages (session_id, timestamp)")
        self._now = 1000.0

    def session(self, id_: str, **fields: object) -> str:
        self._insert("sessions", {"id": id_, "source": "cli", "started_at": self._later()} | fields)
        return id_

    def say(self, session_id: str, role: str, content: object = None, **fields: object) -> int:
        values = {"session_id": session_id, "role": role, "content": content, "timestamp": self._later()}
        return self._insert("messages", values | fields)

    def call(self, session_id: str, *ids: str, content: object = None, **fields: object) -> int:
        calls = [{"id": id_, "function": {"name": "terminal", "arguments": '{"command":"ls"}'}} for id_ in ids]
        return self.say(session_id, "assistant", content, tool_calls=json.dumps(calls), **fields)

    def _insert(self, table: str, values: dict[str, object]) -> int:
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' for _ in values)})"
        return self.raw.execute(sql, tuple(values.values())).lastrowid or 0

    def _later(self) -> float:
        self._now += 1
        return self._now


@pytest.fixture
def original(tmp_path: Path) -> Iterator[Original]:
    (tmp_path / "original").mkdir()
    file = Original(tmp_path / "original" / "state.db")
    yield file
    file.raw.close()


@pytest.fixture
def rows(db: SessionDB) -> Callable[[str], list[Message]]:
    """The rows of a session that stand; the session must be sound."""

    def read(session_id: str) -> list[Message]:
        assert db.read(lambda t: violations(t, session_id)).result() == []
        return db.read(lambda t: t.messages.all(session_id)).result()

    return read


@pytest.fixture
def session(db: SessionDB) -> Callable[[str], Session]:
    def read(session_id: str) -> Session:
        found = db.read(lambda t: t.sessions.get(session_id)).result()
        assert found is not None
        return found

    return read


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_a_conversation_comes_over_with_all_that_was_said(db, original, rows, session) -> None:
    s = original.session(
        "20261130_030527_c14626",
        model="m1",
        model_config='{"provider": "openrouter", "max_tokens": null}',
        cwd="/w/src",
        git_repo_root="/w",
        title="Listing files",
        archived=1,
    )
    original.say(s, "user", "list", api_content="list\n[memory]")
    original.call(s, "c1", finish_reason="tool_calls", reasoning="let me see", reasoning_details='[{"sig": "x"}]')
    original.say(s, "tool", '{"output": "a", "exit_code": 3, "error": null}', tool_call_id="c1", tool_name="terminal")
    original.say(s, "assistant", "one file", finish_reason="length")
    assert import_hermes_agent(db, original.path).messages == 4
    asked, called, result, said = rows(s)
    assert (asked.content, asked.sent, asked.created_at) == ("list", "list\n[memory]", 1002.0)
    assert (called.reasoning, called.finish) == ("let me see", Finish.TOOL_CALLS)
    assert json.loads(called.extras) == {"reasoning_details": [{"sig": "x"}]}
    assert called.calls[0].arguments == '{"command":"ls"}'
    assert result.result
    assert (result.result.call_id, result.result.tool, result.result.exit_code) == ("c1", "terminal", 3)
    assert (said.content, said.finish) == ("one file", Finish.LENGTH)
    brought = session(s)
    assert (brought.title, brought.title_source, brought.source) == ("Listing files", TitleSource.PERSON, "cli")
    assert (brought.cwd, brought.workspace, brought.is_archived) == ("/w/src", "/w", True)
    assert (brought.created_at, brought.last_activity_at) == (1001.0, 1005.0)
    assert brought.route
    assert (brought.route.provider, brought.route.model, brought.route.base_url) == ("openrouter", "m1", "")


def test_the_file_is_only_read_also_while_the_original_writes(db, original) -> None:
    original.raw.execute("PRAGMA wal_autocheckpoint = 0")
    s = original.session("a")
    original.say(s, "user", "still only in the log")
    original.raw.execute("BEGIN IMMEDIATE")
    original.say(s, "user", "not committed")
    before = files(original.path.parent)
    assert import_hermes_agent(db, original.path).messages == 1
    assert files(original.path.parent) == before
    original.raw.execute("COMMIT")


def test_a_file_without_a_log_gets_none(db, original) -> None:
    original.say(original.session("a"), "user", "hi")
    original.raw.close()
    before = files(original.path.parent)
    assert list(before) == ["state.db"]
    assert import_hermes_agent(db, original.path).sessions == 1
    assert files(original.path.parent) == before


def test_a_log_that_a_killed_process_left_is_read(db, original, tmp_path: Path) -> None:
    original.say(original.session("a"), "user", "hi")
    left = tmp_path / "left"
    left.mkdir()
    for name in ("state.db", "state.db-wal"):
        (left / name).write_bytes((original.path.parent / name).read_bytes())
    assert import_hermes_agent(db, left).sessions == 1
    assert sorted(path.name for path in left.iterdir()) == ["state.db", "state.db-wal"]


def test_importing_again_brings_only_what_is_new(db, original, rows) -> None:
    s = original.session("a")
    original.say(s, "user", "hi")
    import_hermes_agent(db, original.path)
    again = import_hermes_agent(db, original.path)
    assert (again.sessions, again.skipped, again.reasons) == (0, 1, ("1 session: already here.",))
    original.say(s, "assistant", "hello")
    original.say(original.session("b"), "user", "new")
    more = import_hermes_agent(db, original.path)
    assert (more.sessions, more.messages) == (2, 2)
    assert [row.content for row in rows(s)] == ["hi", "hello"]


def test_a_session_that_went_on_here_too_is_left_as_it_is(db, original, rows, say) -> None:
    s = original.session("a")
    original.say(s, "user", "hi")
    import_hermes_agent(db, original.path)
    say(s, "answer here")
    original.say(s, "assistant", "there")
    [reason] = import_hermes_agent(db, original.path).reasons
    assert "changed since it was brought over" in reason
    assert [row.content for row in rows(s)] == ["hi", "here"]


def test_a_session_deleted_here_does_not_come_back(db, original) -> None:
    original.say(original.session("a"), "user", "hi")
    import_hermes_agent(db, original.path)
    db.write(lambda t: t.sessions.delete("a", 1.0)).result()
    assert import_hermes_agent(db, original.path).reasons == ("1 session: deleted here before.",)


def test_every_call_gets_one_result_in_order(db, original, rows) -> None:
    s = original.session("a")
    original.say(s, "user", "go")
    original.call(s, "c1", "c2", "c3")
    original.say(s, "tool", "third", tool_call_id="c3")
    original.say(s, "tool", "first", tool_call_id="c1", effect_disposition="none")
    original.say(s, "tool", "whose?", tool_call_id="nobody")
    original.say(s, "user", "and?")
    original.call(s, "c1")  # an id that was used before
    original.say(s, "tool", "again", tool_call_id="c1", effect_disposition="unknown")
    original.call(s, "c1")
    import_hermes_agent(db, original.path)
    results = [row.result for row in rows(s) if row.result]
    assert [(result.call_id, result.outcome) for result in results] == [
        ("c1", CallOutcome.NOT_RUN),
        ("c2", CallOutcome.INTERRUPTED),
        ("c3", CallOutcome.OK),
        ("c1-2", CallOutcome.INTERRUPTED),
        ("c1-3", CallOutcome.INTERRUPTED),
    ]
    assert [row.content for row in rows(s) if row.role is Role.NOTICE] == ["whose?"]


def test_what_a_request_cannot_hold_stays_readable(db, original, rows) -> None:
    s = original.session("a")
    original.say(s, "assistant", "good morning")
    original.say(s, "system", "be nice")
    original.say(s, "session_meta", "{}")
    original.say(s, "user", "hi")
    original.say(s, "assistant", "well")
    original.say(s, "assistant", "hello")
    original.say(s, "assistant", "x", tool_calls="[{broken")
    import_hermes_agent(db, original.path)
    assert [(row.role.value, row.content) for row in rows(s)] == [
        ("notice", "good morning"),
        ("notice", "be nice"),
        ("notice", "{}"),
        ("user", "hi"),
        ("assistant", "well\n\nhello\n\nx\n\n[{broken"),
    ]


def test_content_that_is_more_than_text_keeps_its_parts(db, original, rows) -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    s = original.session("a")
    original.say(s, "user", "\0json:" + json.dumps(parts))
    import_hermes_agent(db, original.path)
    [row] = rows(s)
    assert (row.content, json.loads(row.parts)) == ("look", parts)


def test_a_compaction_in_place_leaves_the_summary_and_what_was_kept(db, original, rows) -> None:
    s = original.session("a")
    for role, content, at, is_kept in (("user", "old", 1.0, False), ("user", "now", 2.0, True)):
        original.say(s, role, content, timestamp=at, active=0, compacted=1)
        if is_kept:
            original.say(s, "user", SUMMARY)
            original.say(s, role, content, timestamp=at)
    import_hermes_agent(db, original.path)
    assert [(row.content, row.is_summary) for row in rows(s)] == [(SUMMARY, True), ("now", False)]
    kept = db.read(lambda t: [(row.content, row.is_compacted) for row in t.transcripts.rows(s)]).result()
    assert kept == [("old", True), (SUMMARY, False), ("now", False)]


def test_what_was_taken_back_stays_taken_back(db, original, rows) -> None:
    s = original.session("a")
    original.say(s, "user", "one")
    original.say(s, "user", "regretted", active=0)
    original.call(s, "c1", active=0)
    import_hermes_agent(db, original.path)
    assert [row.content for row in rows(s)] == ["one"]
    undone = db.write(lambda t: t.lineage.undo_rewind(s)).result()
    assert undone.rows == 3
    assert [row.content for row in rows(s)][:2] == ["one", "regretted"]


def test_continuations_and_branches_hang_on_their_parents(db, original, session) -> None:
    for id_, fields in {
        "first": {"end_reason": "compression", "ended_at": 5.0, "title": "long talk"},
        "stale": {"parent_session_id": "first", "end_reason": "ws_orphan_reap", "ended_at": 9.0},
        "second": {"parent_session_id": "first"},
        "branch": {"parent_session_id": "second", "model_config": '{"_branched_from": "second"}'},
        "reset": {"parent_session_id": "second", "model_config": '{"_reset_from": "second"}'},
        "orphan": {"parent_session_id": "gone"},
    }.items():
        original.say(original.session(id_, **fields), "user", id_)
    import_hermes_agent(db, original.path)
    assert {
        id_: (session(id_).parent_id, session(id_).kind) for id_ in ("stale", "second", "branch", "reset", "orphan")
    } == {
        "stale": ("first", Kind.BRANCH),
        "second": ("first", Kind.COMPACTION),
        "branch": ("second", Kind.BRANCH),
        "reset": ("", Kind.ROOT),
        "orphan": ("", Kind.ROOT),
    }
    assert db.read(lambda t: t.lineage.resume_target("first")).result() == "second"
    assert session("first").last_activity_at >= session("second").last_activity_at
    assert session("first").ended_at is None


def test_only_a_new_beginning_ended_a_session_for_good(db, original, session) -> None:
    for reason in ("new_session", "agent_close", "cli_close"):
        original.say(original.session(reason, end_reason=reason, ended_at=9.0), "user", reason)
    import_hermes_agent(db, original.path)
    assert (session("new_session").end_reason, session("new_session").ended_at) == (EndReason.NEW, 9.0)
    assert session("agent_close").ended_at is session("cli_close").ended_at is None


def test_what_was_spent_comes_along(db, original) -> None:
    s = original.session("a", model="m", billing_provider="p", api_call_count=9)
    original.say(s, "user", "hi")
    for task, url in (("", "one"), ("", "two"), ("title", "one")):
        original.raw.execute(
            "INSERT INTO session_model_usage VALUES (?, 'm', 'p', ?, ?, 1, 10, 20, 3, 4, 5, 1e9)", (s, url, task)
        )
    import_hermes_agent(db, original.path)
    spent = {item.task: item for item in db.read(lambda t: t.usage.totals(s)).result()}
    assert (spent[""].requests, spent[""].usage.input, spent[""].usage.cache_read) == (2, 20, 6)
    assert spent["title"].usage.output == 20


def test_what_does_not_come_is_counted_with_the_reason(db, original) -> None:
    original.say(original.session("a"), "user", "hi")
    original.session("empty")
    original.say(original.session("sub", parent_session_id="a"), "user", "task")
    original.say(original.session("sub2", model_config='{"_delegate_from": "a"}'), "user", "task")
    done = import_hermes_agent(db, original.path)
    assert (done.sessions, done.skipped) == (1, 3)
    assert done.reasons == (
        "2 sessions: not a conversation with you but the work of a sub-agent.",
        "1 session: without any message.",
    )


def test_an_id_that_could_name_another_folder_is_replaced_always_by_the_same(db, original) -> None:
    original.say(original.session("../../etc"), "user", "hi")
    assert import_hermes_agent(db, original.path).sessions == 1
    assert import_hermes_agent(db, original.path).sessions == 0
    [brought] = db.read(lambda t: t.sessions.listing()).result()
    assert brought.id.startswith("hermes-agent-")


def test_values_of_a_wrong_kind_do_not_stop_the_others(db, original, rows) -> None:
    s = original.session("a", model_config="{", title=7, cwd=b"\xff", ended_at="late", parent_session_id="a")
    original.say(s, "user", b"caf\xe9 \xf0", timestamp="noon")
    original.say(s, "assistant", 3.5, tool_calls="{}", reasoning_details="[", timestamp=1e300)
    import_hermes_agent(db, original.path)
    assert [row.content for row in rows(s)] == ["caf\ufffd \ufffd", "3.5\n\n{}"]


def test_half_a_surrogate_pair_is_mended_and_known_again(db, original, rows) -> None:
    s = original.session("a")
    original.say(s, "user", '\0json:[{"type": "text", "text": "a\\ud800"}]')
    import_hermes_agent(db, original.path)
    [row] = rows(s)
    assert (row.content, row.is_mended) == ("a\ufffd", True)
    assert import_hermes_agent(db, original.path).reasons == ("1 session: already here.",)


@pytest.mark.parametrize("kind", ["nothing", "text", "other tables", "a list without sessions"])
def test_another_file_is_refused(db, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "other.db"
    match kind:
        case "text":
            path.write_text("hello")
        case "other tables":
            with closing(sqlite3.connect(path)) as raw:
                raw.execute("CREATE TABLE notes (id)")
        case "a list without sessions":
            with closing(sqlite3.connect(path)) as raw:
                raw.execute("CREATE VIEW sessions AS SELECT 1 AS id, 2 AS source, 3 AS started_at")
                raw.execute("CREATE TABLE messages (id, session_id, role, content)")
        case _:
            pass
    with pytest.raises(RefusedImport, match="nothing was changed"):
        import_hermes_agent(db, path)


def test_a_store_is_not_imported_into_itself(db, db_path: Path) -> None:
    with pytest.raises(RefusedImport, match="it is the store"):
        import_hermes_agent(db, db_path)


def test_a_damaged_page_costs_the_sessions_on_it(db, original) -> None:
    for number in range(40):
        original.say(original.session(f"s{number}"), "user", f"{number} " * 3000)
    original.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    original.raw.close()
    data = bytearray(original.path.read_bytes())
    # The first of the pages that hold nothing but one long text: it also says which page comes next.
    page = next(at for at in range(0, len(data), 4096) if data[at + 8 : at + 40].count(b"20") > 8)
    data[page : page + 4096] = b"\xff" * 4096
    original.path.write_bytes(bytes(data))
    done = import_hermes_agent(db, original.path)
    assert (done.sessions, done.reasons) == (39, ("1 session: damaged in the file.",))


id_lists = st.lists(st.sampled_from(["c1", "c2", "c3"]), max_size=3)
spoken = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "system"]),
        "content": st.sampled_from(["hi", "", None, SUMMARY, '{"exit_code": 1, "error": "x"}']),
        "tool_call_id": st.sampled_from(["c1", "c2", "c3", None]),
        "calls": id_lists,
        "standing": st.sampled_from([(1, 0), (1, 0), (0, 1), (0, 0)]),
        "finish_reason": st.sampled_from([None, "stop", "error"]),
    }
)


@pytest.mark.soak
@pytest.mark.timeout(1200 if os.environ.get("HERMES_SOAK") else 30)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES, deadline=None)
@given(conversations=st.lists(st.lists(spoken, min_size=1, max_size=12), min_size=1, max_size=8))
def test_whatever_was_stored_a_request_can_be_made_from_it(
    db: SessionDB, tmp_path: Path, conversations: list[list[dict[str, object]]]
) -> None:
    example = next(numbered)
    original = Original(tmp_path / f"{example}.db")
    ids = [original.session(f"e{example}-{number}") for number in range(len(conversations))]
    for id_, conversation in zip(ids, conversations, strict=True):
        for line in conversation:
            active, compacted = line["standing"]
            fields = {"tool_call_id": line["tool_call_id"], "finish_reason": line["finish_reason"]}
            flags = {"active": active, "compacted": compacted}
            if line["role"] == "assistant" and line["calls"]:
                original.call(id_, *line["calls"], content=line["content"], **fields, **flags)
            else:
                original.say(id_, line["role"], line["content"], **fields, **flags)
    original.raw.close()
    assert import_hermes_agent(db, original.path).sessions == len(ids)
    assert [db.read(lambda t, s=id_: violations(t, s)).result() for id_ in ids] == [[] for _ in ids]
    assert import_hermes_agent(db, original.path).skipped == len(ids)
