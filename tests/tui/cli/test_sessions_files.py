"""`hermes sessions export|import|repair`: conversations as files, and the file they are in."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.models import Kind

if TYPE_CHECKING:
    from conftest import Command, Done

Sessions = Callable[..., "Done"]
Conversation = Callable[..., str]

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def with_key(hermes: Command, conversation: Conversation) -> str:
    """A conversation in which a key was said; its id."""
    (hermes.home / ".env").write_text(f"MY_KEY={KEY}\n")
    (hermes.home / ".env").chmod(0o600)
    return conversation(f"my key is {KEY}", "Keep it.")


# --- export


def test_markdown_is_masked_and_lines_of_json_are_exact_unless_said_otherwise(
    sessions: Sessions, with_key: str
) -> None:
    for arguments, is_exact in (
        ((), False),
        (("--format", "md", "--exact"), True),
        (("--format", "jsonl"), True),
        (("--format", "jsonl", "--redact"), False),
    ):
        done = sessions("export", with_key, *arguments)
        assert done.code == 0
        assert (KEY in done.out, "[MY_KEY]" in done.out) == (is_exact, not is_exact)
        assert ("This is exact" in done.err, "secrets are masked" in done.err) == (is_exact, not is_exact)


def test_a_file_is_for_its_owner_only_and_never_written_over_unasked(
    sessions: Sessions, with_key: str, hermes: Command
) -> None:
    path = hermes.cwd / "talk.jsonl"
    told = sessions("export", with_key, "--output", "talk.jsonl", "--json").json
    assert told == {"file": str(path), "format": "jsonl", "sessions": 1, "redacted": False}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("mine")
    refused = sessions("export", with_key, "--output", "talk.jsonl")
    assert (refused.code, path.read_text()) == (1, "mine")
    assert sessions("export", with_key, "--output", "talk.jsonl", "--force").code == 0
    assert path.read_text() != "mine"


def test_the_name_of_the_file_tells_the_format(sessions: Sessions, with_key: str, hermes: Command) -> None:
    sessions("export", with_key, "--output", "talk.md")
    assert (hermes.cwd / "talk.md").read_text().startswith("# ")
    sessions("export", with_key, "--output", "other.jsonl", "--format", "md")
    assert (hermes.cwd / "other.jsonl").read_text().startswith("# ")


def test_a_conversation_is_exported_with_what_goes_on_with_it(sessions: Sessions, conversation: Conversation) -> None:
    first = conversation("one", "two")
    second = conversation("three", kind=Kind.COMPACTION, parent_id=first)
    lines = [json.loads(line) for line in sessions("export", first, "--format", "jsonl").out.splitlines()]
    assert [line["id"] for line in lines if "id" in line and "format" in line] == [first, second]
    assert "three" in sessions("export", first).out


@pytest.mark.parametrize(
    "arguments", [(), ("x", "--all"), ("x", "--json"), ("--all", "--redact", "--exact"), ("x", "--format", "html")]
)
def test_what_contradicts_itself_is_a_mistake(sessions: Sessions, arguments: tuple[str, ...]) -> None:
    done = sessions("export", *arguments)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert bool(done.out) == ("--json" in arguments)


def test_a_reader_that_leaves_ends_the_export(hermes: Command, conversation: Conversation) -> None:
    session_id = conversation(*("x" * 100_000 for _ in range(20)))
    done = hermes.shell(f"$HERMES sessions export {session_id} | head -c 10")
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


# --- import


def test_what_was_exported_comes_back_and_is_the_same_again(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    one, two = conversation("one 項目", "two"), conversation("three", is_archived=True)
    sessions("export", "--all", "--output", "all.jsonl")
    sessions("delete", one, two, "--yes")
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (hermes.home / name).unlink(missing_ok=True)
    imported = sessions("import", "all.jsonl", "--json").json
    assert (imported["sessions"], imported["messages"], imported["skipped"]) == (2, 3, 0)
    sessions("export", "--all", "--output", "again.jsonl")
    assert (hermes.cwd / "again.jsonl").read_bytes() == (hermes.cwd / "all.jsonl").read_bytes()
    twice = sessions("import", "all.jsonl")
    assert twice.out.startswith("0 sessions with 0 messages")
    assert "already here" in twice.err


def test_a_file_that_is_not_whole_is_refused_and_nothing_of_it_stays(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    session_id = conversation("one", "two")
    sessions("export", session_id, "--output", "talk.jsonl")
    sessions("delete", session_id, "--yes")
    path = hermes.cwd / "talk.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    done = sessions("import", "talk.jsonl", "--json")
    assert done.code == 1
    assert "was not imported" in done.json["error"]
    assert sessions("list", "--json").json == []


def test_the_conversations_of_hermes_agent_are_brought_over(sessions: Sessions, hermes: Command) -> None:
    theirs = hermes.cwd / "theirs"
    theirs.mkdir()
    with closing(sqlite3.connect(theirs / "state.db")) as raw:
        raw.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL, title TEXT)")
        raw.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL)"
        )
        raw.execute("INSERT INTO sessions VALUES ('a', 'cli', 5.0, 'theirs')")
        raw.execute("INSERT INTO messages VALUES (1, 'a', 'user', 'hello from there', 5.0)")
        raw.commit()
    imported = sessions("import", "--from", "hermes-agent", "theirs", "--json").json
    assert (imported["sessions"], imported["messages"]) == (1, 1)
    assert "hello from there" in sessions("show", "theirs").out


# --- repair


def test_a_sound_store_is_said_to_be(sessions: Sessions, conversation: Conversation) -> None:
    conversation("hello", "there")
    done = sessions("repair")
    assert done.code == 0
    assert "is sound" in done.out
    assert sessions("repair", "--json").json["found"] == []


def test_before_there_is_a_store_nothing_is_made(sessions: Sessions, hermes: Command) -> None:
    assert sessions("repair").code == 1
    assert not (hermes.home / "state.db").exists()


def test_E09_what_is_left_is_listed_and_the_exit_code_says_so(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    session_id = conversation("hello", "there")
    with closing(sqlite3.connect(hermes.home / "state.db")) as raw:
        raw.execute("UPDATE messages SET usage = 'x'")
        raw.commit()
    done = sessions("repair")
    assert done.code == 1
    assert done.out.count(f"{session_id}: ") >= 4  # found and left, two rows
    left = sessions("repair", "--dry-run", "--json").json["left"]
    assert {fault["session_id"] for fault in left} == {session_id}


def test_a_store_that_does_not_open_is_saved_beside_it(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    session_id = conversation("a needle", *("x" * 20_000 for _ in range(20)))
    path = hermes.home / "state.db"
    path.write_bytes(damaged := path.read_bytes()[: path.stat().st_size // 8192 * 4096])
    assert sessions("list").code == 1
    done = sessions("repair", "--json")
    saved = Path(done.json["salvaged"])
    assert (done.code, path.read_bytes()) == (1, damaged)
    saved.rename(path)
    for name in ("state.db-wal", "state.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    assert "a needle" in sessions("show", session_id).out
    assert sessions("repair").code == 0
