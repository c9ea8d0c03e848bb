"""SIGKILL at any moment: nothing stored is lost, the conversation is legal again, and the next turn works."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

COUNTED = " ".join(f"word{number}" for number in range(1, 401))
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def says(prompt: str, text: str, **more: Any) -> dict[str, Any]:
    return {"match": {"userMessage": prompt}, "response": {"content": text, "usage": USAGE}, **more}


def calls(prompt: str, *commands: str) -> list[dict[str, Any]]:
    """An answer that calls `terminal` for each command, and what is said once the results are in."""
    wanted = [
        {"id": f"call_{number}", "name": "terminal", "arguments": {"command": command}}
        for number, command in enumerate(commands)
    ]
    return [
        {
            "match": {"userMessage": prompt, "hasToolResult": False},
            "response": {"content": "One moment.", "toolCalls": wanted, "usage": USAGE},
        },
        {
            "match": {"userMessage": prompt, "hasToolResult": True},
            "response": {"content": "The results are in.", "usage": USAGE},
        },
    ]


def rows(desk: Any) -> list[tuple[Any, ...]]:
    return desk.query("SELECT id, role, content, calls, call_id, outcome FROM messages ORDER BY id")


def outcomes(desk: Any) -> list[tuple[Any, ...]]:
    return desk.query("SELECT call_id, outcome, approval FROM messages WHERE role = 'tool' ORDER BY id")


def called(desk: Any) -> list[str]:
    """The ids of all calls that the model made."""
    stored = desk.query("SELECT calls FROM messages WHERE role = 'assistant' AND calls != ''")
    return [call["id"] for (calls_,) in stored for call in json.loads(calls_)]


def is_stored(desk: Any, statement: str, timeout_s: float = 10) -> None:
    """Wait until the store gives a row for a statement."""
    ends_at = time.monotonic() + timeout_s
    while not desk.query(statement):
        assert time.monotonic() < ends_at, f"nothing was stored for: {statement}"
        time.sleep(0.02)


@pytest.fixture
def pid_file(desk: Any) -> Any:
    """Where a command leaves its process id; what still runs under it is ended."""
    file: Path = desk.workspace / "pid"
    yield file
    if file.exists():
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(file.read_text()), signal.SIGKILL)


def test_a_kill_in_mid_stream_leaves_the_part_that_was_said_marked_as_cut(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any]
) -> None:
    server = aimock([says("count for me", COUNTED, latency=30, chunkSize=12), says("next", "Here I am again.")])
    desk.serve_model(server.base_url)
    first = terminal()
    first.wait_for("Ask for anything")
    first.send("count for me")
    first.wait_for("word30")
    is_stored(desk, "SELECT 1 FROM (SELECT group_concat(content, '') AS said FROM partials) WHERE said LIKE '%word20%'")
    before = rows(desk)
    first.kill()

    second = terminal("tui", "--continue")
    second.wait_for("word20")
    after = rows(desk)
    assert after[: len(before)] == before
    assert desk.query("SELECT finish FROM messages WHERE role = 'assistant'") == [("cut",)]
    second.wait_until(lambda screen: "cut" in screen.lower(), "the mark of a cut answer")
    second.send("next")
    second.wait_for("Here I am again.")
    assert desk.query("PRAGMA integrity_check") == [("ok",)]


def test_E04_a_kill_in_mid_tool_settles_the_call_once_as_interrupted(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any], pid_file: Path
) -> None:
    command = "echo $$ > pid; exec sleep 60"
    server = aimock([*calls("start it", command), says("next", "Here I am again.")])
    desk.serve_model(server.base_url)
    first = terminal()
    first.wait_for("Ask for anything")
    first.send("start it")
    first.answer("exec sleep 60", "1")
    is_stored(desk, "SELECT 1 FROM started_calls")
    before = rows(desk)
    first.kill()

    for _ in range(2):  # a second opening finds nothing left to settle
        reopened = terminal("tui", "--continue")
        reopened.wait_for("interrupted")
        assert outcomes(desk) == [("call_0", "interrupted", "allowed_once")]
        reopened.kill()
    assert rows(desk)[: len(before)] == before

    last = terminal("tui", "--continue")
    last.wait_for("interrupted")
    last.send("next")
    last.wait_for("Here I am again.")
    assert [m["role"] for m in server.journal()[-1]["body"]["messages"]][-4:] == ["user", "assistant", "tool", "user"]
    assert desk.query("PRAGMA integrity_check") == [("ok",)]


def test_a_kill_while_a_question_waits_asks_it_again(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any]
) -> None:
    server = aimock([*calls("make two", "touch first.txt", "touch second.txt"), says("next", "Here I am again.")])
    desk.serve_model(server.base_url)
    first = terminal()
    first.wait_for("Ask for anything")
    first.send("make two")
    first.answer("touch first.txt", "1")
    first.wait_for("touch second.txt")
    is_stored(desk, "SELECT 1 FROM approval_requests WHERE shown LIKE '%second%'")
    first.kill()

    second = terminal("tui", "--continue")
    second.answer("touch second.txt", "1")
    second.wait_for("The results are in.")
    assert (desk.workspace / "first.txt").exists() and (desk.workspace / "second.txt").exists()
    assert outcomes(desk) == [("call_0", "ok", "allowed_once"), ("call_1", "ok", "allowed_once")]
    second.send("next")
    second.wait_for("Here I am again.")


SEED = 20_261_129
ROUNDS = int(os.environ.get("HERMES_SOAK") or 3)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_kill_at_any_moment_leaves_a_conversation_that_goes_on(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any], number: int
) -> None:
    chance = random.Random(SEED + number)
    print(f"seed {SEED + number}")
    # "next" comes first: a prompt that got no answer is sent again in front of the one after it.
    server = aimock(
        [says("next", "Here I am again."), *calls("work", "touch it; sleep 0.2; echo one")],
        latency_ms=chance.randint(0, 20),
    )
    desk.serve_model(server.base_url)
    first = terminal()
    first.wait_for("Ask for anything")
    first.send("work")
    dies_at = time.monotonic() + chance.uniform(0.01, 1.6)
    while time.monotonic() < dies_at and first.pump(0.01):
        if "enter decides" in first.screen():
            first.press("1")
    first.kill()
    stored, is_asked = rows(desk), bool(desk.query("SELECT 1 FROM approval_requests WHERE settled_at IS NULL"))

    second = terminal("tui", "--continue")
    second.wait_for("Ask for anything")
    if is_asked:
        second.answer("echo one", "1")
        second.wait_for("The results are in.")
    second.send("next")
    second.wait_for("Here I am again.")
    assert rows(desk)[: len(stored)] == stored
    assert sorted(called(desk)) == sorted(call for call, _, _ in outcomes(desk))
    assert desk.query("PRAGMA integrity_check") == [("ok",)]
