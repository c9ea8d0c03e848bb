"""`hermes chat` on a disk that fills up: the answer is printed all the same, and what is lost is told."""

from __future__ import annotations

import json
import resource
import sqlite3
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process can't be set here")


def wait_begun(hermes: Command) -> None:
    """Until the prompt is in the store."""
    ends_at = time.monotonic() + 15
    while time.monotonic() < ends_at:
        try:
            if hermes.query("SELECT 1 FROM messages WHERE role = 'user'"):
                return
        except sqlite3.OperationalError:
            pass  # the store is not there yet
        time.sleep(0.01)
    raise AssertionError("no turn began")


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_E08_a_run_that_could_not_be_stored_answers_says_so_and_fails(hermes: Command, as_json: bool) -> None:
    process = hermes.start("chat", "-q", "long", "--quiet", *(["--json"] if as_json else []))
    wait_begun(hermes)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    stdout, stderr = process.communicate(timeout=25)
    assert process.returncode == 1
    [session_id] = hermes.query("SELECT id FROM sessions")[0]
    assert f"hermes: 1 message of session {session_id} could not be stored." in stderr.decode()
    if as_json:
        turn = json.loads(stdout)
        assert (turn["exit_reason"], turn["unstored"], turn["session_id"]) == ("completed", 1, session_id)
        stdout = turn["text"].encode()
    assert len(stdout) > 1_000
    assert hermes.query("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    "arguments",
    [("sessions", "list"), ("sessions", "export", "--all", "--format", "jsonl"), ("sessions", "stats", "--json")],
    ids=" ".join,
)
def test_E01_an_answer_that_a_full_disk_swallows_is_no_success(hermes: Command, arguments: tuple[str, ...]) -> None:
    assert hermes.run("chat", "-q", "hello").returncode == 0
    with Path("/dev/full").open("wb") as full:
        done = hermes.run(*arguments, stdout=full)
    assert done.returncode == 1
    assert b"hermes: The answer could not be written: No space left on device." in done.stderr
