"""`hermes sessions list|show|search|stats`: what is stored, for people and for programs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from session.db import SessionDB
from session.models import (
    Approval,
    ApprovalRequest,
    CallOutcome,
    CallResult,
    Finish,
    Kind,
    Message,
    Role,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from conftest import Command, Done

Sessions = Callable[..., "Done"]
Conversation = Callable[..., str]


def with_store(hermes: Command, do: Callable[[SessionDB], object]) -> None:
    db = SessionDB.open(hermes.home / "state.db")
    do(db)
    db.close()


# --- list


def test_no_sessions_are_no_failure(sessions: Sessions) -> None:
    done = sessions("list")
    assert (done.code, done.out) == (0, "")
    assert "no sessions yet" in done.err
    assert sessions("list", "--json").json == []


def test_the_list_is_read_page_by_page_the_last_active_first(sessions: Sessions, conversation: Conversation) -> None:
    ids = [conversation("hello") for _ in range(5)][::-1]
    first = sessions("list", "--limit", "2")
    assert [line.split()[0] for line in first.out.splitlines()] == ids[:2]
    assert f"--before {ids[1]}" in first.err
    second = sessions("list", "--limit", "2", "--before", ids[1], "--json").json
    assert [session["id"] for session in second] == ids[2:4]
    last = sessions("list", "--limit", "2", "--before", ids[3])
    assert (last.out.split()[0], last.err) == (ids[4], "")


def test_a_session_is_marked_by_how_it_stands(sessions: Sessions, conversation: Conversation, hermes: Command) -> None:
    cut, waiting = conversation("unanswered"), conversation("run ls")
    pinned = conversation("hi", "ho", is_pinned=True)
    archived = conversation("hi", "ho", is_archived=True)

    def ask(db: SessionDB) -> None:
        db.write(lambda t: t.turns.begin(waiting, 1.0)).result()
        request = ApprovalRequest("r", waiting, "c", "terminal", "ls", "", 1.0)
        db.write(lambda t: t.approvals.open(request)).result()

    with_store(hermes, ask)
    listed = {line.split()[0]: line.rsplit(")", 1)[1].strip() for line in sessions("list", "--all").out.splitlines()}
    assert listed == {cut: "cut", waiting: "waiting", pinned: "pinned", archived: "archived"}
    assert archived not in sessions("list").out
    told = {session["id"]: session["status"] for session in sessions("list", "--json").json}
    assert told == {cut: "cut", waiting: "waiting", pinned: "complete"}


def test_E04_a_turn_whose_process_was_killed_is_cut_and_not_at_work(sessions: Sessions, hermes: Command) -> None:
    process = hermes.start("chat", "-q", "long")
    ends_at = time.monotonic() + 15
    while (listed := sessions("list").out).rstrip().endswith(")") or not listed:
        assert time.monotonic() < ends_at
    assert listed.rstrip().endswith("working")
    process.kill()
    process.communicate()
    assert sessions("list").out.rstrip().endswith("cut")
    assert [session["status"] for session in sessions("list", "--json").json] == ["cut"]


def test_E12_here_means_this_folder_and_not_one_that_looks_alike(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    mine = conversation("hello")
    other = conversation("hello", cwd=f"{hermes.cwd}-2", workspace=f"{hermes.cwd}-2")
    assert [session["id"] for session in sessions("list", "--here", "--json").json] == [mine]
    assert {session["id"] for session in sessions("list", "--json").json} == {mine, other}


# --- how a session is named


def test_a_session_is_named_by_its_id_its_beginning_or_its_title(
    sessions: Sessions, conversation: Conversation
) -> None:
    one, two = conversation("hello", title="the first"), conversation("hello", title="20260102")
    for name in (one, one[:8], "the first"):
        assert sessions("show", name, "--json").json["id"] == one
    assert sessions("show", "20260102", "--json").json["id"] == two  # a whole title before the beginning of an id


def test_a_name_that_may_mean_several_is_told_with_all_of_them(sessions: Sessions, conversation: Conversation) -> None:
    ids = [conversation("hello", title=f"talk\x1b[2J {number}") for number in range(2)]
    done = sessions("show", "202601")
    assert (done.code, done.out) == (1, "")
    assert all(id_ in done.err for id_ in ids)
    assert "\x1b" not in done.err
    assert sessions("show", "202601", "--json").json.keys() == {"error"}


def test_a_name_that_means_none_is_a_sentence(sessions: Sessions) -> None:
    for arguments in (("show", "x"), ("export", "x"), ("delete", "x", "--yes"), ("rename", "x", "y"), ("pin", "x")):
        done = sessions(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "There is no session x." in done.err


# --- show


def test_the_end_is_shown_and_what_is_before_it_can_be_had(sessions: Sessions, conversation: Conversation) -> None:
    session_id = conversation(*(f"word{number}" for number in range(6)))
    end = sessions("show", session_id, "--limit", "2")
    assert "word4" in end.out and "word5" in end.out and "word3" not in end.out
    before = end.err.split("--before ")[1].split()[0]
    earlier = sessions("show", session_id, "--limit", "4", "--before", before, "--json").json
    assert [row["content"] for row in earlier["messages"]] == ["word0", "word1", "word2", "word3"]
    assert earlier["has_earlier"] is False


def test_a_turn_with_a_tool_can_be_read(sessions: Sessions, conversation: Conversation, hermes: Command) -> None:
    session_id = conversation("list it")
    call = ToolCall("c", "terminal", '{"command": "ls"}')
    result = CallResult("c", "terminal", CallOutcome.ERROR, Approval.ALLOWED_ONCE, 1)
    output = "\n".join(f"line {number}" for number in range(30))
    rows = [
        Message(session_id, Role.ASSISTANT, "", 1.0, calls=(call,), finish=Finish.TOOL_CALLS),
        Message(session_id, Role.TOOL, output, 1.0, result=result),
        Message(session_id, Role.ASSISTANT, "It f", 1.0, finish=Finish.INTERRUPTED),
    ]
    with_store(hermes, lambda db: [db.write(lambda t, row=row: t.messages.append(row)).result() for row in rows])
    shown = sessions("show", session_id).out
    assert 'Calls terminal: {"command": "ls"}' in shown
    assert "Tool terminal (error)" in shown
    assert "line 11\n(and 18 more lines)" in shown
    assert "It f\n(interrupted)" in shown
    assert sessions("show", session_id, "--json").json["messages"][2]["content"] == output


def test_E09_a_damaged_row_is_shown_as_such(sessions: Sessions, conversation: Conversation, hermes: Command) -> None:
    session_id = conversation("hello", "there")
    with_store(hermes, lambda db: db.write(lambda t: t.connection.run("UPDATE messages SET calls = '{'")).result())
    assert sessions("show", session_id).out.count("--- Damaged") == 2


def test_what_goes_on_elsewhere_says_where(sessions: Sessions, conversation: Conversation) -> None:
    first = conversation("hello", "there")
    second = conversation("more", kind=Kind.COMPACTION, parent_id=first)
    assert f"goes on: hermes sessions show {second}" in sessions("show", first).err


# --- search


def test_a_match_is_found_with_its_session_and_the_exit_code_is_that_of_grep(
    sessions: Sessions, conversation: Conversation
) -> None:
    session_id = conversation("where is the needle?", "in the hay", title="lost things")
    done = sessions("search", "needle")
    assert done.code == 0
    assert session_id in done.out and "lost things" in done.out and "where is the needle?" in done.out
    nothing = sessions("search", "thimble")
    assert (nothing.code, nothing.out) == (1, "")
    assert sessions("search", "thimble", "--json").json == {"hits": [], "note": ""}


def test_a_program_gets_the_offsets_of_the_matches(sessions: Sessions, conversation: Conversation) -> None:
    conversation("a needle here")
    (hit,) = sessions("search", "needle", "--json").json["hits"]
    assert [hit["snippet"][start:stop] for start, stop in hit["spans"]] == ["needle"]


def test_what_is_found_can_be_narrowed_and_read_page_by_page(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    one = conversation("needle one", "needle two")
    conversation("needle three", source="tui", cwd="/elsewhere", workspace="/elsewhere")

    def found(*arguments: str) -> set[str]:
        return {hit["snippet"].split()[1] for hit in sessions("search", "needle", *arguments, "--json").json["hits"]}

    assert found("--role", "assistant") == {"two"}
    assert found("--session", one) == {"one", "two"}
    assert found("--source", "tui") == found("--folder", "/elsewhere") == {"three"}
    assert found("--since", "1h") == set()
    assert found("--until", "1970-01-02") == {"one", "two", "three"}
    pages = [found("--limit", "2", "--page", page, "--order", "newest") for page in "12"]
    assert pages == [{"three", "two"}, {"one"}]
    assert "--page 2" in sessions("search", "needle", "--limit", "2").err


@pytest.mark.parametrize("typed", ["", "*", "NEAR(", "foo AND", '"', "--", "-x", "50%", "\x00"])
def test_E16_nothing_that_can_be_typed_is_an_error(sessions: Sessions, conversation: Conversation, typed: str) -> None:
    conversation("hello")
    done = sessions("search", "--json", "--", typed)
    assert done.code == 1
    assert done.json["hits"] == []


def on_terminal(hermes: Command, *arguments: str, typed: bytes = b"") -> bytes:
    """What a command writes on a terminal of its own."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [hermes.path, *arguments], env=hermes.environ, cwd=hermes.cwd, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    os.write(master, typed)
    process.wait(timeout=20)
    written = os.read(master, 65_536)
    os.close(master)
    return written


def test_matches_stand_out_on_a_terminal_only_and_nothing_else_acts_on_it(
    hermes: Command, sessions: Sessions, conversation: Conversation
) -> None:
    conversation("a needle \x1b[31m in red", title="\x1b]0;x\x07")
    written = on_terminal(hermes, "sessions", "search", "needle")
    assert b"a \x1b[1mneedle\x1b[0m \\x1b[31m in red" in written
    assert written.count(b"\x1b") == 2
    assert "\x1b[1m" not in sessions("search", "needle").out


# --- stats


def test_stats_tell_what_is_there_and_what_it_took(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    session_id = conversation("hello", "there", is_pinned=True)
    usage = Usage(input=1_200, output=34)
    with_store(
        hermes, lambda db: db.write(lambda t: t.usage.add(session_id, "p", "big", "2026-11-29", "", usage)).result()
    )
    told = sessions("stats", "--json").json
    assert (told["sessions"], told["messages"], told["path"]) == (1, 2, str(hermes.home / "state.db"))
    assert told["models"][0]["usage"]["input"] == told["days"]["2026-11-29"]["input"] == 1_200
    shown = sessions("stats").out
    assert "big (p): 1,200 tokens read (0 cached), 34 written in 1 request" in shown
    assert "2026-11-29" in shown


def test_the_help_names_every_verb_and_each_takes_json(hermes: Command, capsys: pytest.CaptureFixture[str]) -> None:
    from tui.cli.dispatch import dispatch

    assert dispatch(["sessions", "-h"]) == 0
    told = capsys.readouterr().out
    verbs = [
        "list",
        "show",
        "search",
        "rename",
        "pin",
        "unpin",
        "archive",
        "unarchive",
        "delete",
        "export",
        "import",
        "prune",
        "repair",
        "stats",
        "relink",
    ]
    for verb in verbs:
        assert f"\n    {verb}" in told
        assert dispatch(["sessions", verb, "-h"]) == 0
        assert "--json" in capsys.readouterr().out


def test_reading_changes_nothing(sessions: Sessions, conversation: Conversation, hermes: Command) -> None:
    session_id = conversation("hello", "there")
    before = hermes.query("SELECT * FROM sessions"), hermes.query("SELECT * FROM messages")
    for arguments in (("list",), ("show", session_id), ("search", "hello"), ("stats",), ("export", session_id)):
        assert sessions(*arguments).code == 0
    assert (hermes.query("SELECT * FROM sessions"), hermes.query("SELECT * FROM messages")) == before


# --- numbers


@pytest.mark.parametrize("number", ["0", "-1", "many", "9" * 30])
@pytest.mark.parametrize(
    "arguments", [("list", "--limit"), ("show", "x", "--before"), ("search", "x", "--page")], ids=" ".join
)
def test_a_number_out_of_reach_is_a_mistake_that_says_which_ones_are_taken(
    sessions: Sessions, arguments: tuple[str, ...], number: str
) -> None:
    done = sessions(*arguments, number)
    assert done.code == 2
    assert "takes a whole number from 1 to 1,000,000,000" in done.err
