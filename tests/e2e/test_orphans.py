"""However the app ends, what its commands started ends with it; what was left all the same is told and stopped."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest

ENDS_S = 15  # TERM, a grace, KILL, on a busy machine


class Trail:
    """The processes of one test, told by a word in their command line."""

    def __init__(self) -> None:
        self.seconds = f"300.{uuid.uuid4().int % 10**12:012d}"

    def alive(self) -> list[int]:
        return [process.pid for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.cmdline()[:1] == ["sleep"] and self.seconds in process.cmdline()
        except psutil.Error:
            return False

    def wait(self, count: int) -> None:
        ends_at = time.monotonic() + ENDS_S
        while len(self.alive()) != count:
            assert time.monotonic() < ends_at, f"{len(self.alive())} processes run, not {count}"
            time.sleep(0.02)


@pytest.fixture
def trail() -> Iterator[Trail]:
    trail = Trail()
    yield trail
    for pid in trail.alive():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def calling(prompt: str, command: str) -> list[dict[str, Any]]:
    """A model that calls `terminal`, and says something once the result is in."""
    call = {"id": "call_0", "name": "terminal", "arguments": {"command": command}}
    return [
        {
            "match": {"userMessage": prompt, "hasToolResult": False},
            "response": {"content": "One moment.", "toolCalls": [call]},
        },
        {"match": {"userMessage": prompt, "hasToolResult": True}, "response": {"content": "The results are in."}},
    ]


def started(desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any], command: str) -> Any:
    """A terminal in which a command was allowed."""
    desk.serve_model(aimock(calling("go", command)).base_url)
    term = terminal()
    term.wait_for("Ask for anything")
    term.send("go")
    term.answer("sleep", "1")
    return term


def everything_below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_T04_nothing_outlives_the_app(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any], trail: Trail, number: int
) -> None:
    sleep = f"sleep {trail.seconds}"
    term = started(desk, terminal, aimock, f"(env -i setsid {sleep} &); (trap '' TERM; {sleep}); {sleep}")
    trail.wait(2)
    below = everything_below(term.child.pid)
    term.kill(number)
    term.wait_exit()
    trail.wait(0)
    psutil.wait_procs(below, timeout=ENDS_S)
    assert [process for process in below if process.is_running()] == []  # nor what watched over them


def test_T04_what_was_left_is_told_at_the_next_start_and_stopped(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any], trail: Trail
) -> None:
    """Left only because what watches over commands was killed as well."""
    term = started(desk, terminal, aimock, f"touch it; setsid sleep {trail.seconds} & echo up; wait")
    trail.wait(1)
    [pid] = trail.alive()
    term.kill(signal.SIGSTOP)  # it would end the rest itself when it saw that
    for process in everything_below(term.child.pid):
        if process.pid != pid:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    term.kill()
    assert trail.alive() == [pid]
    listed = desk.run("processes")
    assert (listed.returncode, str(pid) in listed.stdout, "hermes processes stop" in listed.stdout) == (0, True, True)
    second = terminal()
    second.wait_for("left running")
    second.send("/processes stop")
    second.wait_for("It was ended with all that it started.")
    assert trail.alive() == []
    assert desk.run("processes", "--json").stdout == "[]\n"
