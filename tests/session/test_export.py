"""What leaves the store: Markdown in which text stays text, lines of JSON, and files that replace nothing."""

from __future__ import annotations

import json
import os
import stat
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from session.db import SessionDB
from session.export import (
    ExportExists,
    NothingToExport,
    UnwritableExport,
    export_jsonl,
    export_markdown,
    write_export,
)
from session.models import ApiMode, Approval, CallOutcome, CallResult, Finish, Message, Role, Route, ToolCall

ROWS, ROW_BYTES = (2_000_000, 20) if os.environ.get("HERMES_SOAK") else (4_000, 1_000)
SECRET = "sk-verysecret-123"

# Text as it would break a document: fences, headings, HTML, ends of lines of all kinds.
unruly = st.text(st.sampled_from("`~#<>-=*_[]()|\\ \n\r\t\0a漢\u2028\u202e\x1b"), max_size=60)
texts = unruly | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def masked(text: str) -> str:
    return text.replace(SECRET, "[KEY]")


@pytest.fixture
def markdown(db: SessionDB) -> Callable[[str], str]:
    return lambda session_id: db.read(lambda t: "".join(export_markdown(t, session_id, None))).result()


@pytest.fixture
def jsonl(db: SessionDB) -> Callable[..., list[dict[str, object]]]:
    def export(*ids: str, redact: Callable[[str], str] | None = None) -> list[dict[str, object]]:
        lines = db.read(lambda t: list(export_jsonl(t, ids, redact))).result()
        return [json.loads(line) for line in lines]

    return export


def test_markdown_tells_a_conversation_in_order(db, new_session, say, markdown) -> None:
    route = Route("openai", "gpt-4.1", "https://x.test/v1", ApiMode.CHAT, "OPENAI_API_KEY")
    session_id = new_session(title="Fix *it*", route=route, created_at=1e9)
    say(session_id, "user why?", "calls a", "result a", "answer so", "notice careful")
    told = markdown(session_id)
    assert told.startswith("# Fix \\*it\\*\n\n")
    assert "- Model: `gpt-4.1 (openai)`" in told
    assert "- Begun: `2001-09-09 01:46 UTC`" in told
    headings = [line.split(",")[0] for line in told.splitlines() if line.startswith("## ")]
    assert headings == ["## You", "## Assistant", "## Tool `terminal`", "## Assistant", "## Notice"]


def test_markdown_leaves_out_what_was_taken_back_and_keeps_what_was_summarised(db, new_session, say, markdown) -> None:
    session_id = new_session()
    first, _, kept, _, back = say(session_id, "user old", "answer older", "user now", "answer yes", "user regretted")
    db.write(lambda t: t.lineage.rewind(session_id, back.id, 2.0)).result()
    summary = Message(session_id, Role.USER, "in short", 2.0)
    revision = db.read(lambda t: t.sessions.get(session_id).revision).result()
    db.write(lambda t: t.lineage.swap(session_id, first.id, kept.id, summary, revision)).result()
    told = markdown(session_id)
    assert "regretted" not in told
    assert all(text in told for text in ("old", "older", "now", "yes", "Summary of what was said before"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(title=texts, content=texts, arguments=texts, name=texts)
def test_nothing_that_was_said_breaks_the_structure_of_markdown(
    db: SessionDB, new_session: Callable[..., str], title: str, content: str, arguments: str, name: str
) -> None:
    session_id = new_session(title=title, cwd=name)
    call = ToolCall("c", name, arguments)
    result = CallResult("c", name, CallOutcome.OK, Approval.NOT_ASKED)
    rows = [
        Message(session_id, Role.USER, content, 1.0),
        Message(session_id, Role.ASSISTANT, content, 1.0, reasoning=content, refusal=content, calls=(call,)),
        Message(session_id, Role.TOOL, content, 1.0, result=result),
    ]
    db.write(lambda t: [t.messages.append(row) for row in rows]).result()
    told = db.read(lambda t: "".join(export_markdown(t, session_id, None))).result()
    tokens = MarkdownIt().parse(told)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", "h2", "h2", "h2"]
    assert not [token for token in tokens if token.type in ("html_block", "code_block", "hr", "blockquote_open")]
    shown = 1 + bool(content) * 3 + 1 + 1
    fences = [token.content for token in tokens if token.type == "fence"]
    assert len(fences) == shown
    if content.isprintable():
        assert fences[0].rstrip("\n") == content


def test_markdown_spells_out_what_acts_on_a_terminal(new_session, say, markdown) -> None:
    session_id = new_session()
    say(session_id, "user a\x1b[2Jb\u202ec\rd")
    assert "a\\x1b[2Jb\\u202ec\\x0dd" in markdown(session_id)


def test_markdown_names_an_answer_that_did_not_end_by_itself(db, new_session, markdown) -> None:
    session_id = new_session()
    db.write(lambda t: t.messages.append(Message(session_id, Role.ASSISTANT, "hal", 1.0, finish=Finish.CUT))).result()
    assert "The answer broke off." in markdown(session_id)


def test_secrets_are_masked_wherever_they_were_said(db, new_session, jsonl) -> None:
    session_id = new_session(title=f"my {SECRET}", cwd=f"/{SECRET}")
    escaped = json.dumps({"a": SECRET}).replace("sk", "\\u0073k")
    call = ToolCall("c", "terminal", escaped)
    answer = Message(
        session_id,
        Role.ASSISTANT,
        SECRET,
        1.0,
        reasoning=SECRET,
        refusal=SECRET,
        calls=(call,),
        parts=f"[{escaped}]",
        extras=escaped,
    )
    result = CallResult("c", "terminal", CallOutcome.ERROR, Approval.NOT_ASKED, cause=SECRET)
    rows = [Message(session_id, Role.USER, SECRET, 1.0, sent=SECRET), answer]
    rows.append(Message(session_id, Role.TOOL, SECRET, 1.0, result=result))
    db.write(lambda t: [t.messages.append(row) for row in rows]).result()
    records = jsonl(session_id, redact=masked)
    assert "verysecret" not in json.dumps(records)
    assert records[2]["calls"] == [{"id": "c", "name": "terminal", "arguments": '{"a":"[KEY]"}', "is_masked": True}]
    assert json.loads(str(records[2]["extras"])) == {"a": "[KEY]"}
    told = db.read(lambda t: "".join(export_markdown(t, session_id, masked))).result()
    assert "verysecret" not in told
    assert "Known secrets are masked" in told


def test_what_is_not_redacted_is_exact(new_session, say, jsonl) -> None:
    session_id = new_session()
    said = f"{SECRET}\0\u2028\u202e漢 \r\n"
    say(session_id, f"user {said}")
    assert jsonl(session_id)[1]["content"] == said


def test_an_export_does_not_say_where_a_model_answers_nor_which_key_it_takes(new_session, jsonl) -> None:
    route = Route("own", "m", "https://inside.test/v1", ApiMode.CHAT, "OWN_KEY", 1000)
    [header] = jsonl(new_session(route=route))
    assert header["route"] == {"provider": "own", "model": "m", "window": 1000}


def test_a_session_that_is_not_there_is_a_sentence(db, new_session) -> None:
    session_id = new_session()
    db.write(lambda t: t.sessions.delete(session_id, 2.0)).result()
    for gone in (session_id, "nobody"):
        with pytest.raises(NothingToExport, match="nothing was exported"):
            db.read(lambda t, gone=gone: list(export_jsonl(t, [gone]))).result()


@pytest.mark.soak
@pytest.mark.timeout(1200 if os.environ.get("HERMES_SOAK") else 30)
def test_an_export_takes_no_more_memory_for_more_rows(db: SessionDB, new_session: Callable[..., str]) -> None:
    few, many = new_session(), new_session()
    for session_id, rows in ((few, 500), (many, ROWS)):
        db.write(lambda t, s=session_id, n=rows: fill(t.connection, s, n)).result()

    def peak(session_id: str) -> int:
        tracemalloc.start()
        last = db.read(lambda t: deque(export_jsonl(t, [session_id]), maxlen=1)).result()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert last
        return most

    peak(few)
    assert peak(many) < peak(few) + 1_000_000


def fill(connection, session_id: str, rows: int) -> None:
    columns = "position, rewound_by, active, compacted, role, created_at, is_summary, is_mended, duration_s, content"
    others = (
        "finish, level, usage, call_id, tool, outcome, approval, cause, calls, reasoning, refusal, sent, parts, extras"
    )
    connection.run(
        f"""
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO messages (session_id, {columns}, {others})
        SELECT ?, (SELECT coalesce(max(id), 0) FROM messages) + i, 0, 1, 0, 'user', 1.0, 0, 0, 0.0, hex(zeroblob({ROW_BYTES // 2})),
            '', 'info', {", ".join(["''"] * 12)} FROM n
        """,
        rows,
        session_id,
    )


def test_a_file_is_for_its_owner_only(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        write_export(tmp_path / "out.md", ["a\n", "b\u2028\r\n"])
    finally:
        os.umask(old_mask)
    assert (tmp_path / "out.md").read_bytes() == "a\nb\u2028\r\n".encode()
    assert stat.S_IMODE((tmp_path / "out.md").stat().st_mode) == 0o600


def test_a_file_that_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("mine")
    path.chmod(0o644)
    with pytest.raises(ExportExists, match="is there already"):
        write_export(path, ["new"])
    assert path.read_text() == "mine"
    write_export(path, ["new"], overwrite=True)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)
    assert [*tmp_path.iterdir()] == [path]


def test_only_a_file_is_ever_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(ExportExists):
            write_export(tmp_path / name, ["new"], overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_half_an_export_is_no_file(tmp_path: Path) -> None:
    def failing() -> Iterator[str]:
        yield "half"
        raise NothingToExport(session_id="x")

    (tmp_path / "old").write_text("mine")
    for name in ("new", "old"):
        with pytest.raises(NothingToExport):
            write_export(tmp_path / name, failing(), overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "mine"


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnwritableExport, match="No such file or directory"):
        write_export(tmp_path / "nowhere" / "out.md", ["x"])
