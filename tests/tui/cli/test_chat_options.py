"""What one run of `hermes chat` can be told: how much to ask, how to speak, what to send, when to stop."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.image_files import NoImage, with_images
from tui.cli.arguments import parse

if TYPE_CHECKING:
    from conftest import Command, RawServer, Rule

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def served(hermes: Command, raw_server: Callable[[Rule], RawServer]) -> RawServer:
    """The model that `hermes` talks to; it answers "ready"."""
    server = raw_server(lambda path, body: (200, said("ready")) if path.endswith("/completions") else None)
    hermes.serve_model(server.base_url)
    return server


def said(text: str) -> str:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"


def asked(server: RawServer) -> Any:
    """What the last prompt was sent as."""
    prompts = [body["messages"] for body in server.bodies if body.get("stream")]
    return prompts[-1][-1]["content"]


@pytest.mark.parametrize(
    ("option", "is_made"),
    [
        (("--mode", "ask"), False),
        (("--mode", "plan"), False),
        (("--yolo",), True),
    ],
)
def test_a_run_asks_as_much_as_it_is_told(hermes: Command, option: tuple[str, ...], is_made: bool) -> None:
    assert hermes.run("chat", "-q", "run touch made", *option).returncode == 0
    assert (hermes.cwd / "made").exists() is is_made


def test_a_run_that_accepts_edits_writes_and_runs_nothing(hermes: Command) -> None:
    hermes.run("chat", "-q", "both write made: x and run touch other", "--mode", "accept-edits")
    assert (hermes.cwd / "made").read_text() == "x\n"
    assert not (hermes.cwd / "other").exists()


def test_a_personality_is_the_sessions_and_an_unknown_one_sends_nothing(hermes: Command, served: RawServer) -> None:
    first = json.loads(hermes.run("chat", "--json", "-q", "hello", "--personality", "Pirate").stdout)
    assert hermes.query("SELECT personality FROM sessions") == [("pirate",)]
    assert "pirate" in str(served.bodies[0]["messages"])
    hermes.run("chat", "-q", "hello", "--session", first["session_id"], "--personality", "none")
    assert hermes.query("SELECT personality FROM sessions") == [("",)]
    sent = len(served.bodies)
    done = hermes.run("chat", "-q", "hello", "--personality", "nobody")
    assert (done.returncode, len(served.bodies)) == (1, sent)
    assert b"There is no personality nobody" in done.stderr


def test_standard_input_goes_behind_the_prompt_only_where_that_is_asked_for(hermes: Command, served: RawServer) -> None:
    plain = hermes.run("chat", "-q", "sum it up", input=b"a line\n")
    assert asked(served) == "sum it up"
    assert b"7 bytes wait there" in plain.stderr
    with_input = hermes.run("chat", "-q", "sum it up", "--stdin", input=b"a line\n")
    assert asked(served) == "sum it up\n\na line\n"
    assert b"wait there" not in with_input.stderr


def test_a_loop_over_lines_keeps_its_lines(hermes: Command, served: RawServer) -> None:
    hermes.shell('printf "one\\ntwo\\n" | while read -r line; do $HERMES chat --quiet -q "$line"; done')
    assert hermes.query("SELECT content FROM messages WHERE role = 'user' ORDER BY id") == [("one",), ("two",)]


def test_an_image_is_sent_and_kept_with_its_prompt(hermes: Command, served: RawServer) -> None:
    (hermes.cwd / "shot.png").write_bytes(PNG)
    first = json.loads(hermes.run("chat", "--json", "-q", "what is it?", "--image", "shot.png").stdout)
    text, image = asked(served)
    assert text == {"type": "text", "text": "what is it?\n\n[image: shot.png]"}
    assert image["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    hermes.run("chat", "-q", "and now?", "--session", first["session_id"])
    assert image in served.bodies[-1]["messages"][1]["content"]


@pytest.mark.parametrize("name", ["nothere.png", "text.png", "pipe", "."])
def test_what_is_no_image_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.png").write_text("no image")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NoImage, match="Nothing was sent"):
        with_images("what is it?", [tmp_path / name])


def test_an_image_that_is_none_sends_nothing(hermes: Command, served: RawServer) -> None:
    assert hermes.run("chat", "-q", "what is it?", "--image", "nothere.png").returncode == 1
    assert served.bodies == []


def test_no_answer_is_asked_for_that_is_longer_than_the_run_allows(hermes: Command, served: RawServer) -> None:
    hermes.run("chat", "-q", "hello", "--max-tokens", "77")
    assert served.bodies[0]["max_tokens"] == 77


def test_a_run_ends_after_its_requests(hermes: Command, raw_server: Callable[[Rule], RawServer]) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "list_files", "arguments": "{}"}}
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    server = raw_server(lambda path, body: (200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"))
    hermes.serve_model(server.base_url)
    done = hermes.run("chat", "--json", "-q", "hello", "--max-turns", "2")
    assert (done.returncode, json.loads(done.stdout)["exit_reason"]) == (1, "budget")
    assert sum(bool(body.get("stream")) for body in server.bodies) == 2


def test_a_run_that_takes_too_long_is_settled_and_has_failed(hermes: Command) -> None:
    done = hermes.run("chat", "--json", "-q", "long", "--timeout", "0.5")
    turn = json.loads(done.stdout)
    assert (done.returncode, turn["exit_reason"], turn["error"]["kind"]) == (1, "error", "timeout")
    assert "longer than 0.5 s" in turn["error"]["message"]
    assert hermes.query("SELECT id FROM sessions") == [(turn["session_id"],)]


@pytest.mark.parametrize(
    "option",
    [
        ("--timeout", "0"),
        ("--timeout", "soon"),
        ("--max-tokens", "-1"),
        ("--image", ""),
        ("--mode", "plan", "--yolo"),
        ("--json", "--stream-json"),
    ],
)
def test_a_limit_that_is_none_and_what_excludes_each_other_are_mistakes(option: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["chat", "-q", "hello", *option])
    assert ended.value.code == 2
