"""`hermes sessions rename|pin|archive|relink|delete|prune`: what a person changes or removes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.models import EndReason, Kind

if TYPE_CHECKING:
    from conftest import Command, Done

Sessions = Callable[..., "Done"]
Conversation = Callable[..., str]


def listed(sessions: Sessions, *arguments: str) -> dict[str, dict[str, object]]:
    return {session["id"]: session for session in sessions("list", "--json", *arguments).json}


# --- titles


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("x" * 300, "x" * 99 + "…"),
        ("/x", "/x"),
        ("[bold]", "[bold]"),
        ("a\nb", "a b"),
        ("-x", "-x"),
        ("\x1b[31mred\u202e", "[31mred"),
        ("日本語 e\u0301", "日本語 e\u0301"),
    ],
)
def test_E22_any_title_is_safe_and_the_session_can_be_named_by_it(
    sessions: Sessions, conversation: Conversation, typed: str, title: str
) -> None:
    session_id = conversation("hello")
    (renamed,) = sessions("rename", "--json", "--", session_id, typed).json
    assert (renamed["title"], renamed["title_source"]) == (title, "person")
    for name in (typed, title, session_id):
        assert sessions("show", "--json", "--", name).json["id"] == session_id
    assert title in sessions("list").out


def test_E22_an_empty_title_is_refused_and_the_session_keeps_its_own(
    sessions: Sessions, conversation: Conversation
) -> None:
    session_id = conversation("hello", title="mine")
    for typed in ("", " \n", "\u200b"):
        done = sessions("rename", session_id, typed)
        assert (done.code, done.out) == (1, "")
        assert "needs at least one character" in done.err
    assert listed(sessions)[session_id]["title"] == "mine"


def test_a_title_that_another_session_has_names_that_one(sessions: Sessions, conversation: Conversation) -> None:
    one, two = conversation("hello", title="mine"), conversation("hello")
    done = sessions("rename", two, "mine", "--json")
    assert done.code == 1
    assert one in done.json["error"]


# --- marks


def test_pins_and_archives_can_be_set_and_taken_back(sessions: Sessions, conversation: Conversation) -> None:
    one, two = conversation("hello"), conversation("hello")
    assert sessions("pin", one, two).code == 0
    assert {session["is_pinned"] for session in listed(sessions).values()} == {True}
    sessions("unpin", one)
    assert [listed(sessions)[id_]["is_pinned"] for id_ in (one, two)] == [False, True]
    (archived,) = sessions("archive", one, "--json").json
    assert (archived["is_archived"], archived["end_reason"]) == (True, EndReason.ARCHIVED)
    assert listed(sessions).keys() == {two}
    (open_again,) = sessions("unarchive", one, "--json").json
    assert (open_again["is_archived"], open_again["ended_at"]) == (False, None)


def test_one_name_that_is_wrong_changes_none_of_the_others(sessions: Sessions, conversation: Conversation) -> None:
    session_id = conversation("hello")
    assert sessions("archive", session_id, "nobody").code == 1
    assert sessions("delete", session_id, "nobody", "--yes").code == 1
    assert listed(sessions)[session_id]["is_archived"] is False


# --- a folder that moved


@pytest.fixture
def moved(hermes: Command, conversation: Conversation) -> tuple[str, Path, Path]:
    """A session of a folder that has another name by now: its id, and both folders."""
    old, new = hermes.cwd / "a", hermes.cwd / "b"
    old.mkdir()
    session_id = conversation("hello", "there", cwd=str(old), workspace=str(old))
    old.rename(new)
    return session_id, old, new


def test_E10_a_session_of_a_moved_folder_is_listed_and_says_what_to_do(
    hermes: Command, sessions: Sessions, moved: tuple[str, Path, Path]
) -> None:
    session_id, old, _ = moved
    assert session_id in sessions("list").out
    done = hermes.run("chat", "-q", "run echo one", "--session", session_id)
    assert f"hermes sessions relink {session_id}" in done.stderr.decode()
    assert str(old) in done.stderr.decode()
    assert done.returncode == 0


def test_E10_a_session_is_told_where_its_folder_is(
    hermes: Command, sessions: Sessions, moved: tuple[str, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id, _, new = moved
    (relinked,) = sessions("relink", session_id, "b", "--json").json
    assert (relinked["cwd"], relinked["workspace"]) == (str(new), str(new))
    monkeypatch.chdir(new)
    assert listed(sessions, "--here").keys() == {session_id}
    done = hermes.run("chat", "-q", "help", "--session", session_id)
    assert b"relink" not in done.stderr


def test_E10_the_folder_one_is_in_is_the_new_one_where_none_is_named(
    sessions: Sessions, moved: tuple[str, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id, _, new = moved
    (new / ".git").mkdir()
    (new / "deep").mkdir()
    monkeypatch.chdir(new / "deep")
    (relinked,) = sessions("relink", session_id, "--json").json
    assert (relinked["cwd"], relinked["workspace"]) == (str(new / "deep"), str(new))


def test_E10_all_sessions_of_a_folder_follow_it(
    hermes: Command, sessions: Sessions, conversation: Conversation, moved: tuple[str, Path, Path]
) -> None:
    session_id, old, new = moved
    below = conversation("hello", cwd=f"{old}/deep", workspace=str(old))
    alike = conversation("hello", cwd=f"{old}x", workspace=f"{old}x")
    told = sessions("relink", "--all-under", "a", "b", "--json").json
    assert told == {"sessions": 2, "old": str(old), "new": str(new)}
    places = {id_: session["cwd"] for id_, session in listed(sessions).items()}
    assert places == {session_id: str(new), below: f"{new}/deep", alike: f"{old}x"}
    again = sessions("relink", "--all-under", "a", "b")
    assert (again.code, again.out) == (1, "")
    assert "No session worked in" in again.err


def test_E10_a_new_place_that_is_not_there_is_refused(sessions: Sessions, moved: tuple[str, Path, Path]) -> None:
    session_id, old, _ = moved
    for arguments in ((session_id, "nowhere"), ("--all-under", "a", "nowhere")):
        assert sessions("relink", *arguments).code == 1
    assert listed(sessions)[session_id]["cwd"] == str(old)


# --- delete


def test_without_a_terminal_nothing_is_deleted_unless_it_is_meant(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    session_id = conversation("hello", "there")
    refused = sessions("delete", session_id)
    assert (refused.code, refused.out) == (1, "")
    assert "--yes" in refused.err
    assert sessions("delete", session_id, "--json").json.keys() == {"error"}
    assert listed(sessions).keys() == {session_id}
    assert sessions("delete", session_id, "--yes", "--json").json == [{"id": session_id}]
    assert listed(sessions) == {}
    assert hermes.query("SELECT count(*) FROM messages") == [(0,)]
    assert sessions("search", "hello").code == 1


def test_what_commands_had_put_out_goes_with_their_session(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    first, other = conversation("hello"), conversation("hello")
    second = conversation("more", kind=Kind.COMPACTION, parent_id=first)
    for session_id in (first, second, other):
        (hermes.home / "outputs" / session_id).mkdir(parents=True)
        (hermes.home / "outputs" / session_id / "terminal-1.log").write_text("secret")
    assert {gone["id"] for gone in sessions("delete", first, "--yes", "--json").json} == {first, second}
    assert [path.name for path in (hermes.home / "outputs").iterdir()] == [other]


@pytest.mark.parametrize(("typed", "code", "is_left"), [(b"n\n", 1, True), (b"\n", 1, True), (b"y\n", 0, False)])
def test_on_a_terminal_a_person_is_asked(
    hermes: Command, sessions: Sessions, conversation: Conversation, typed: bytes, code: int, is_left: bool
) -> None:
    session_id = conversation("hello", title="\x1b[2Jmine")
    master, slave = os.openpty()
    process = subprocess.Popen(
        [hermes.path, "sessions", "delete", session_id],
        env=hermes.environ,
        cwd=hermes.cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 1024)
    os.write(master, typed)
    assert process.wait(timeout=20) == code
    os.close(master)
    assert session_id.encode() in shown
    assert b"\x1b[2J" not in shown
    assert bool(listed(sessions)) is is_left


WORK = """
import sys, time
from pathlib import Path
from session.db import SessionDB
from session.errors import SessionDeleted
from session.models import Message, Role
db = SessionDB.open(Path(sys.argv[1]))
print("open", flush=True)
while True:
    try:
        db.write(lambda t: t.messages.append(Message(sys.argv[2], Role.USER, "more", 1.0))).result()
    except SessionDeleted:
        print("gone", flush=True)
        break
    time.sleep(0.01)
db.close()
"""


def test_E18_what_another_process_still_writes_does_not_bring_a_deleted_session_back(
    hermes: Command, sessions: Sessions, conversation: Conversation
) -> None:
    session_id = conversation("hello")
    python = hermes.path.with_name("python")
    with subprocess.Popen(
        [python, "-c", WORK, str(hermes.home / "state.db"), session_id], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "open\n"
        assert sessions("delete", session_id, "--yes").code == 0
        assert worker.stdout.readline() == "gone\n"
    assert listed(sessions) == {}
    assert hermes.query("SELECT count(*) FROM messages") == [(0,)]


# --- prune


@pytest.fixture
def old(conversation: Conversation) -> str:
    return conversation(
        "hello", "there", is_archived=True, ended_at=5.0, end_reason=EndReason.ARCHIVED, last_activity_at=5.0
    )


def test_prune_says_first_what_it_would_remove(sessions: Sessions, conversation: Conversation, old: str) -> None:
    conversation("not ended")
    looked = sessions("prune", "--dry-run", "--json").json
    assert [session["id"] for session in looked["sessions"]] == [old]
    assert old in sessions("prune", "--dry-run").out
    refused = sessions("prune")
    assert (refused.code, refused.out) == (1, "")
    assert old in listed(sessions, "--all")
    assert sessions("prune", "--yes", "--json").json == looked
    assert old not in listed(sessions, "--all")
    assert sessions("prune", "--json").json["sessions"] == []  # nothing to ask about


def test_prune_takes_a_number_of_days(sessions: Sessions, conversation: Conversation) -> None:
    at = time.time() - 10 * 86_400
    session_id = conversation(
        "hello", is_archived=True, created_at=at, last_activity_at=at, ended_at=at, end_reason=EndReason.ARCHIVED
    )
    assert sessions("prune", "--yes", "--json").json["sessions"] == []
    pruned = sessions("prune", "--yes", "--older-than", "7", "--json").json
    assert [session["id"] for session in pruned["sessions"]] == [session_id]
    assert sessions("prune", "--older-than", "0").code == 2


def test_prune_gives_room_back_where_it_is_asked_to(
    sessions: Sessions, conversation: Conversation, hermes: Command
) -> None:
    conversation("x" * 2_000_000, is_archived=True, ended_at=5.0, end_reason=EndReason.ARCHIVED, last_activity_at=5.0)
    path = hermes.home / "state.db"
    assert path.stat().st_size > 2_000_000
    assert "--vacuum" in sessions("prune", "--yes").err
    assert "made smaller" in sessions("prune", "--vacuum").err
    assert path.stat().st_size < 1_000_000
