"""Whatever ends the program ends no session: its row stays open, and yet the run in it is really over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

OPEN = [(None, "")]


def quits(term: Any) -> None:
    term.send("/quit")


def dies(term: Any) -> None:
    term.kill(signal.SIGKILL)


def is_told_to_end(term: Any) -> None:
    term.kill(signal.SIGTERM)


def hears_a_hangup(term: Any) -> None:
    term.kill(signal.SIGHUP)


def loses_its_terminal(term: Any) -> None:
    term.hang_up()


ENDINGS = [quits, is_told_to_end, hears_a_hangup, loses_its_terminal, dies]


def until(holds: Callable[[], object], what: str) -> None:
    ends_at = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < ends_at, what
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def pid_file(desk: Any) -> Any:
    """Where a command leaves its process id; what still runs under it is ended."""
    file: Path = desk.workspace / "pid"
    yield file
    if file.exists():
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("end", ENDINGS)
def test_an_ending_in_mid_call_leaves_the_session_open_and_nothing_of_the_run(
    desk: Any, terminal: Callable[..., Any], pid_file: Path, end: Callable[[Any], None]
) -> None:
    term = terminal("tui", "--model", "demo")
    term.wait_for("Ask for anything")
    term.send("run echo $$ > pid; exec sleep 60")
    term.answer("exec sleep 60", "1")
    until(lambda: pid_file.exists() and pid_file.read_text().strip(), "the command runs")
    end(term)
    until(lambda: not is_running(term.child.pid), "the program is gone")
    assert desk.query("SELECT ended_at, end_reason FROM sessions") == OPEN
    if end is dies:  # nobody was left to do it: the next one does
        desk.run("chat", "--session", desk.query("SELECT id FROM sessions")[0][0], "-q", "help")
    else:
        until(lambda: not is_running(int(pid_file.read_text())), "the command is ended")
    assert desk.query("SELECT ended_at, end_reason FROM sessions") == OPEN
    assert desk.query("SELECT count(*) FROM turns WHERE ended_at IS NULL") == [(0,)]
    assert desk.query("SELECT outcome FROM messages WHERE role = 'tool'") == [("interrupted",)]
    assert desk.query("SELECT count(*) FROM leases") == [(0,)]


def test_the_end_of_a_headless_run_leaves_its_session_open(desk: Any) -> None:
    desk.run("chat", "-q", "help", "--model", "demo")
    assert desk.query("SELECT ended_at, end_reason FROM sessions") == OPEN
    assert desk.query("SELECT count(*) FROM leases") == [(0,)]


def test_E21_texts_queued_behind_a_turn_that_a_kill_ends_are_unsent_at_the_next_start(
    desk: Any, terminal: Callable[..., Any], wire: Any
) -> None:
    wire.stream(wire.chunk({"content": "Half an answer"}), 60.0)
    desk.serve_model(wire.base_url)
    first = terminal()
    first.wait_for("Ask for anything")
    first.send("begin")
    first.wait_for("Half an answer")
    for number, text in enumerate(("the second thing", "the third thing"), 1):
        first.send(text)
        first.wait_for(f"{number} queued")
    first.kill()
    second = terminal("tui", "--continue")
    second.wait_for("2 queued")
    second.wait_for("the second thing")
    second.wait_for("the third thing")
    assert len(wire.keys) == 1  # and nothing was sent by itself
