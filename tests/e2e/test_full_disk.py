"""A disk that fills up under the running command: seen on screen while it lasts, caught up with, or told at the end."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from typing import Any

import pytest

SAID = "SELECT role, content FROM messages WHERE role != 'notice' ORDER BY id"
SLOWLY = [step for number in range(60) for step in (f"word{number} ", 0.05)]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process can't be set here")


def fill(pid: int, *, is_full: bool = True) -> None:
    """Let the system refuse every write of a process to a file, or no more."""
    size = 0 if is_full else resource.RLIM_INFINITY
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def say_slowly(wire: Any) -> None:
    steps = [wire.chunk({"content": step}) if isinstance(step, str) else step for step in SLOWLY]
    wire.stream(*steps, wire.chunk({}, "stop"), b"data: [DONE]\n\n")


def test_E08_the_screen_warns_while_the_disk_is_full_and_the_store_catches_up(
    desk: Any, terminal: Callable[..., Any], wire: Any
) -> None:
    desk.serve_model(wire.base_url)
    say_slowly(wire)
    wire.say("And more.")
    wire.say("There is room.")
    term = terminal(cols=80, rows=24)
    term.wait_for("Ask for anything")
    term.send("count")
    term.wait_for("word3")
    fill(term.child.pid)
    term.wait_for("memory")
    term.wait_for("not stored")
    term.wait_for("word59")
    term.wait_for("idle")
    term.send("more")
    term.wait_for("And more.")
    term.wait_for("3 not stored")
    fill(term.child.pid, is_full=False)
    screen = term.wait_gone("not stored")
    assert screen.count("And more.") == 1
    term.send("again")
    told = [
        ("user", "count"),
        ("assistant", "word0 wor"),
        ("user", "more"),
        ("assistant", "And more."),
        ("user", "again"),
        ("assistant", "There is"),
    ]
    # An answer is shown while it streams, and stored once it is whole.
    term.wait_until(
        lambda _: [(role, content[:9].strip()) for role, content in desk.query(SAID)] == told, "all is stored"
    )
    assert desk.query("PRAGMA integrity_check") == [("ok",)]


def test_E08_leaving_the_screen_on_a_full_disk_says_what_is_lost(
    desk: Any, terminal: Callable[..., Any], wire: Any
) -> None:
    desk.serve_model(wire.base_url)
    wire.say("Hello.")
    term = terminal()
    term.wait_for("Ask for anything")
    fill(term.child.pid)
    term.send("hi")
    term.wait_for("Hello.")
    term.wait_for("2 not stored")
    term.press("ctrl+q")
    assert term.wait_exit() == 1
    assert "2 messages of session" in " ".join(term.written().split("\x1b[?1049l")[-1].split())
