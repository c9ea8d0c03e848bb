"""Whatever a command prints, a secret that hermes knows is not in it: its name stands in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.profile import Profile
from session.models import Approval, CallOutcome, CallResult, Finish, Message, Role, Session, TitleSource, ToolCall

if TYPE_CHECKING:
    from conftest import Command

KEY = "sk-very-secret-0123456789"
SESSION = "20260101-000000-aaaaaa"

SHOWN = [
    "config list",
    "config list --json",
    "config get providers.p.key_cmd",
    "config get providers.p.key_cmd --json",
    "config get providers",
    "config get somebody",
    "config get somebody --json",
    "sessions list",
    "sessions list --json",
    f"sessions export {SESSION} --redact",
    "logs",
    "doctor --offline",
    "doctor --offline --json",
]
SILENT = [
    "config check",
    "config check --json",
    "config get MY_KEY",
    "secrets list",
    "secrets list --json",
    "profile list --json",
    "trust list --json",
]
WRONG = [
    f"config get {KEY}",
    f"config get {KEY} --json",
    f"config set agent.max_turns {KEY}",
    f"sessions export {KEY}",
    f"chat -q hello --model nobody:{KEY}",
    f"chat -q hello --model nobody:{KEY} --json",
    f"chat -q hello --session {KEY}",
    f"chat -q hello -p {KEY}",
    f"logs -p {KEY}",
]


@pytest.fixture
def home_full_of_it(hermes: Command) -> Command:
    """A key in every place from which something is shown; the conversation was stored before it was one."""
    provider = {"base_url": f"http://me:{KEY}@127.0.0.1:9/v1", "key_cmd": f"curl -H 'token: {KEY}' http://127.0.0.1:9"}
    hermes.configure(providers={"p": provider, KEY: {"base_url": 3}}, somebody={"else": [KEY]})
    profile = Profile.load(hermes.environ)
    profile.db.write(lambda tables: tables.sessions.create(session_of(hermes.cwd))).result()
    for row in rows():
        profile.db.write(lambda tables, row=row: tables.messages.append(row)).result()
    profile.close()
    (hermes.home / "logs" / "hermes.log").write_text(f"2026-01-01 00:00:00,000 1 ERROR tui: {KEY} was refused\n")
    (hermes.home / ".env").write_text(f"MY_KEY={KEY}\n")
    (hermes.home / ".env").chmod(0o600)
    return hermes


def session_of(cwd: Path) -> Session:
    return Session(SESSION, "tui", f"what is {KEY}?", TitleSource.DERIVED, str(cwd), str(cwd), 1.0, 1.0)


def rows() -> list[Message]:
    call = ToolCall("c", "terminal", json.dumps({"command": f"echo {KEY}"}))
    result = CallResult("c", "terminal", CallOutcome.NOT_RUN, Approval.DENIED, cause=f"{KEY} is private")
    asked = Message(SESSION, Role.USER, f"what is {KEY}?", 1.0)
    called = Message(SESSION, Role.ASSISTANT, KEY, 1.0, reasoning=KEY, refusal=KEY, calls=(call,), finish=Finish.STOP)
    return [asked, called, Message(SESSION, Role.TOOL, f"denied: {KEY}", 1.0, result=result)]


def printed(hermes: Command, line: str) -> str:
    done = hermes.run(*line.split(" "))
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("line", SHOWN)
def test_what_is_shown_has_the_name_in_place_of_the_key(home_full_of_it: Command, line: str) -> None:
    said = printed(home_full_of_it, line)
    assert KEY not in said
    assert "[MY_KEY]" in said


@pytest.mark.parametrize("line", SILENT)
def test_what_need_not_show_it_does_not(home_full_of_it: Command, line: str) -> None:
    said = printed(home_full_of_it, line)
    assert KEY not in said
    assert said


@pytest.mark.parametrize("line", WRONG)
def test_an_error_that_quotes_what_was_typed_does_not_show_it(home_full_of_it: Command, line: str) -> None:
    said = printed(home_full_of_it, line)
    assert KEY not in said
    assert said


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_turn_without_a_screen_does_not_show_it(home_full_of_it: Command, more: list[str]) -> None:
    done = home_full_of_it.run("chat", "-q", f"echo {KEY}", "--model", "demo", *more)
    assert KEY.encode() not in done.stdout + done.stderr
    assert done.returncode == 0
