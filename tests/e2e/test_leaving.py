"""The app leaves when its terminal goes away or it is told to, soon and with the terminal as it was."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

GONE_S = 4  # two by the rule, and as much again for a machine that is busy
LEFT_ALTERNATE_SCREEN = "\x1b[?1049l"


def ends_within(pid: int, seconds: float) -> bool:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_and_restores_the_terminal(terminal: Callable[..., Any], number: int, status: int) -> None:
    term = terminal()
    term.wait_for("Ask for anything")
    began = time.monotonic()
    term.kill(number)
    assert term.wait_exit(GONE_S) == status
    assert time.monotonic() - began < GONE_S
    assert LEFT_ALTERNATE_SCREEN in term.written()


def test_a_terminal_that_is_gone_ends_it(terminal: Callable[..., Any]) -> None:
    term = terminal()
    term.wait_for("Ask for anything")
    term.hang_up()
    assert ends_within(term.child.pid, GONE_S)


def test_a_terminal_that_is_gone_ends_it_though_hangups_are_ignored(terminal: Callable[..., Any]) -> None:
    """As under nohup: an orphan that reads nothing for ever would spin."""
    term = terminal(program=["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", sys.executable, "-m", "tui"])
    term.wait_for("Ask for anything")
    term.hang_up()
    assert ends_within(term.child.pid, GONE_S)


def test_a_turn_that_a_signal_ends_is_settled(desk: Any, terminal: Callable[..., Any]) -> None:
    term = terminal()
    term.wait_for("Ask for anything")
    term.send("run touch made.txt")
    term.wait_for("enter decides")
    term.kill(signal.SIGTERM)
    term.wait_exit(GONE_S)
    assert desk.query("SELECT outcome, approval FROM messages WHERE role = 'tool'") == [("not_run", "cancelled")]
