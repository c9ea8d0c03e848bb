"""`hermes chat --stream-json`: a line for each event while it happens, and the whole turn as the last line."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from msgspec.structs import fields

from agent.config.masking import Masking
from agent.context.meter import ContextFigure, FigureSource
from agent.events import CallStarted, RequestOpened, RowStored, Stamp, TurnEvent, UsageRead
from session.models import ApprovalRequest, Message, Role, ToolCall, Usage
from tui.cli.event_lines import event_line

if TYPE_CHECKING:
    from conftest import Command

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "headless.md").read_text()
TOLD = PAGE.split("## A line for each event")[1].split("\n## ")[0]


def lines(stdout: bytes) -> list[dict[str, Any]]:
    """All of it is whole lines, each one object with a type."""
    assert stdout.endswith(b"\n")
    found = [json.loads(line) for line in stdout.splitlines()]
    assert all(isinstance(line["type"], str) for line in found)
    return found


def test_the_events_tell_the_turn_and_the_result_sums_it_up(hermes: Command) -> None:
    done = hermes.run("chat", "--stream-json", "--quiet", "-q", "run echo hi")
    *events, result = lines(done.stdout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    assert {event["session_id"] for event in events} == {result["session_id"]}
    assert (events[0]["type"], events[-1]["type"], result["type"]) == ("turn_started", "turn_ended", "result")
    [call] = [event["call"] for event in events if event["type"] == "call_started"]
    [row] = [event["row"] for event in events if event["type"] == "row" and event["row"]["role"] == "tool"]
    assert (call["name"], row["result"]["call_id"], row["result"]["exit_code"]) == ("terminal", call["id"], 0)
    answers = [event["row"]["text"] for event in events if event["type"] == "row" and event["row"]["finish"]]
    assert "".join(event["text"] for event in events if event["type"] == "text") == "".join(answers)
    assert (result["text"], result["exit_reason"]) == (answers[-1], "completed")
    stored = hermes.query("SELECT id FROM messages ORDER BY id")
    assert [(event["row"]["id"],) for event in events if event["type"] == "row"] == stored


def test_a_turn_that_never_ran_is_one_line(hermes: Command) -> None:
    done = hermes.run("chat", "--stream-json", "-q", "hello", "--model", "nobody:x")
    [result] = lines(done.stdout)
    assert (done.returncode, result["type"], result["session_id"]) == (1, "result", None)


def test_a_signal_ends_the_stream_with_its_result(hermes: Command) -> None:
    process = hermes.start("chat", "--stream-json", "-q", "long")
    assert process.stdout is not None
    while b'"type": "text"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    stdout, _ = process.communicate(timeout=20)
    assert process.returncode == 143
    assert lines(stdout)[-1] | {"cut": True, "exit_reason": "interrupted"} == lines(stdout)[-1]


def test_a_reader_that_left_ends_the_turn_quietly_and_it_is_settled(hermes: Command) -> None:
    done = hermes.shell("{ $HERMES chat --stream-json -q long; echo $? > code; } | head -n 3")
    assert len(lines(done.stdout)) == 3
    assert (hermes.cwd / "code").read_text() == "141\n"
    assert b"Traceback" not in done.stderr and b"Broken" not in done.stderr
    assert hermes.query("SELECT finish FROM messages WHERE role = 'assistant'") == [("interrupted",)]


@pytest.mark.parametrize("form", ["--json", "--stream-json"])
def test_a_full_disk_behind_stdout_is_a_failure(hermes: Command, form: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = hermes.shell(f"$HERMES chat {form} --quiet -q help > /dev/full")
    assert done.returncode == 1
    assert b"could not be written" in done.stderr


EVENTS = get_args(TurnEvent)


def example(kind: type[Any]) -> TurnEvent:
    """An event of a kind, with the emptiest values that it takes."""
    call, request = ToolCall("c", "terminal", "{}"), ApprovalRequest("a", "s", "c", "terminal", "ls", "why", 0.0)
    known: dict[type[Any], dict[str, Any]] = {
        CallStarted: {"call": call},
        RequestOpened: {"request": request},
        RowStored: {"row": Message("s", Role.USER, "hello", 0.0)},
        UsageRead: {"usage": Usage(), "turn": Usage(), "context": ContextFigure(0, None, FigureSource.UNKNOWN)},
    }
    values = {"request": request, "ids": {1: 2}} | known.get(kind, {})
    return kind(
        **{
            field.name: Stamp("p", "s", 1) if field.name == "at" else values.get(field.name, 0)
            for field in fields(kind)
        }
    )


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_a_line_that_the_page_tells_of(kind: type[Any]) -> None:
    line = json.loads(event_line(example(kind), Masking()))
    [told] = re.findall(rf"^\| `{line['type']}` \| (.*?) \|", TOLD, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", told)) == sorted(line.keys() - {"type", "session_id", "seq"})


def test_the_page_tells_of_no_other_events() -> None:
    told = re.findall(r"^\| `(\w+)` \|", TOLD, re.MULTILINE)
    assert sorted(told) == sorted(json.loads(event_line(example(kind), Masking()))["type"] for kind in EVENTS)
