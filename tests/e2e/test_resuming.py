"""Leaving tells the way back, and every session can be gone on with from everywhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

HINT = re.compile(r"To go on with “(.+)”: (hermes .+?) *\r?\n")
ANSWERED = "built-in demo, not a model"


def is_failing(screen: str) -> bool:
    """Whether the session is shown in which the demo was asked to fail: in the list and in the conversation."""
    return screen.count("fail") > 1


def left(term: Any) -> tuple[str, str] | None:
    """Leave; the title and the command that are printed then."""
    term.press("ctrl+q")
    assert term.wait_exit() == 0
    found = HINT.search(term.written().rpartition("\x1b[?1049l")[2])
    return (found[1], found[2]) if found else None


def test_complaint_10_leaving_prints_the_command_that_opens_the_session_that_was_shown(
    desk: Any, terminal: Callable[..., Any]
) -> None:
    desk.run("profile", "create", "work")
    first = terminal("-p", "work", "--model", "demo", cols=120)
    first.wait_for("Ask for anything")
    first.send("help")
    first.wait_for(ANSWERED)
    first.send("/new")
    first.wait_gone(ANSWERED)
    first.send("fail")
    first.wait_until(is_failing, "the second session")
    hint = left(first)
    assert hint is not None
    [session_id] = [
        line["id"]
        for line in json.loads(desk.run("sessions", "list", "--json", "-p", "work").stdout)
        if line["title"] == "fail"
    ]
    assert hint == ("fail", f"hermes tui --resume {session_id} -p work")
    again = terminal(*shlex.split(hint[1])[1:], cols=120)
    again.wait_until(is_failing, "the same session")


def test_complaint_10_a_session_that_was_never_stored_leaves_no_command(terminal: Callable[..., Any]) -> None:
    term = terminal()
    term.wait_for("Ask for anything")
    assert left(term) is None


def test_complaint_11_one_session_goes_on_on_the_screen_and_without_it(desk: Any, terminal: Callable[..., Any]) -> None:
    desk.run("chat", "-q", "help")
    [(session_id,)] = desk.query("SELECT id FROM sessions")
    screen = terminal("--continue")
    screen.wait_for(ANSWERED)
    screen.send("list")
    screen.wait_for("What next?")
    assert left(screen) == ("help", f"hermes tui --resume {session_id}")
    assert desk.run("chat", "-q", "help", "--session", session_id).returncode == 0
    assert desk.query("SELECT id FROM sessions") == [(session_id,)]
    assert desk.query("SELECT content FROM messages WHERE role = 'user'") == [("help",), ("list",), ("help",)]


def test_the_screen_opens_with_the_mode_and_the_personality_that_were_named(
    desk: Any, terminal: Callable[..., Any]
) -> None:
    term = terminal("--mode", "plan", "--personality", "pirate")
    term.wait_for("Ask for anything")
    term.send("run touch made")
    term.wait_for("What next?")
    assert desk.query("SELECT mode, personality FROM sessions") == [("plan", "pirate")]
    assert not (desk.workspace / "made").exists()
