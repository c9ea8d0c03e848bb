"""`hermes provider check`: its table is true of servers that others wrote and of ones that are made difficult."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

if TYPE_CHECKING:
    from conftest import Command, RawServer

WAIT_S = 45
NOTE = {"name": "note", "arguments": {"word": "ready"}}
GOOD = [
    {"match": {"userMessage": "Reply with the single word"}, "response": {"content": "ready"}},
    {"match": {"userMessage": "note once", "hasToolResult": False}, "response": {"toolCalls": [NOTE]}},
    {"match": {"userMessage": "note twice", "hasToolResult": False}, "response": {"toolCalls": [NOTE, NOTE]}},
    {"match": {"hasToolResult": True}, "response": {"content": "noted"}},
]
WORKS, FAILS, UNCLEAR, UNASKED = "works", "does not work", "unclear", "not asked"


def bad(message: str, status: int = 400) -> tuple[int, object]:
    return status, {"error": {"message": message, "type": "invalid_request_error"}}


def check(hermes: Command, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = hermes.run("provider", "check", "--json", *arguments)
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {finding["subject"]: finding["verdict"] for finding in report["findings"]}


def test_a_good_server_does_everything_and_needs_nothing(hermes: Command, aimock: Callable[..., Any]) -> None:
    hermes.serve_model(aimock(GOOD).base_url)
    report = check(hermes)
    assert verdicts(report) == {
        "a plain answer": WORKS,
        "token counts in streams": WORKS,
        "a tool call": WORKS,
        "two calls in one answer": WORKS,
        "an answer with content null sent back": WORKS,
        'an answer with content "" sent back': WORKS,
        "two calls in one answer sent back": WORKS,
        "thinking sent back": WORKS,
        "the Responses API": WORKS,
        "the context window": UNCLEAR,  # its list of models has no windows
    }
    assert (report["switches"], report["saved"]) == ({}, False)


def test_a_poor_server_counts_nothing_and_has_no_responses(hermes: Command, fakellm: Callable[..., str]) -> None:
    hermes.serve_model(
        fakellm(
            [
                {"name": "over", "when": {"tool_result_contains": "noted"}, "respond": {"content": "done"}},
                {"name": "call", "when": {"tools_include": "note"}, "respond": {"tool_calls": [NOTE]}},
            ]
        )
    )
    report = check(hermes)
    found = verdicts(report)
    assert {subject for subject, verdict in found.items() if verdict == FAILS} == {
        "token counts in streams",
        "the Responses API",
    }
    assert {subject for subject, verdict in found.items() if verdict == UNCLEAR} == {
        "two calls in one answer",
        "the context window",
    }
    assert report["switches"] == {}


def strict(path: str, body: dict[str, Any]) -> tuple[int, object] | None:
    """Takes no stream_options, no null content, no second call and no thinking; has no Responses, and tells its window."""
    if path.endswith("/models"):
        return 200, {"data": [{"id": "m", "max_model_len": 8192}]}
    if not path.endswith("/chat/completions"):
        return bad("no such path", 404)
    if "stream_options" in body:
        return bad("stream_options: Extra inputs are not permitted", 422)
    said = next((message for message in body["messages"] if message["role"] == "assistant"), {"content": "x"})
    if said["content"] is None:
        return bad("invalid message content type: <nil>")
    if "reasoning_content" in said:
        return bad("property 'reasoning_content' is unsupported")
    if len(said.get("tool_calls", [])) > 1:
        return bad("This model only supports single tool-calls at once!")
    return None


def thinker(path: str, body: dict[str, Any]) -> tuple[int, object] | None:
    """Wants its thinking back, and the longest answer under its newer name."""
    if "max_tokens" in body:
        return bad("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    said = next((message for message in body.get("messages", []) if message["role"] == "assistant"), None)
    if said and not said.get("reasoning_content"):
        return bad("The reasoning_content in the thinking mode must be passed back to the API.")
    return None if path.endswith("/chat/completions") else bad("no such path", 404)


def test_what_a_strict_server_wants_is_found_and_saved_and_then_it_works(
    hermes: Command, raw_server: Callable[..., RawServer]
) -> None:
    server = raw_server(strict)
    hermes.serve_model(server.base_url)
    config = hermes.home / "config.yaml"
    config.write_text(
        f"# mine\nprobe_local: false\nmodel: m\nproviders:\n  here:  # at home\n    base_url: {server.base_url}\n"
    )
    report = check(hermes, "--save")
    assert report["switches"] == {"usage_option": False, "empty_content": "empty", "parallel_calls": False}
    found = verdicts(report)
    assert found["an answer with content null sent back"] == FAILS
    assert found['an answer with content "" sent back'] == WORKS
    assert (found["two calls in one answer sent back"], found["thinking sent back"]) == (FAILS, FAILS)
    assert found["the Responses API"] == FAILS
    assert [one["why"] for one in report["findings"]][-1] == "8,192 tokens"
    assert report["saved"] is True

    text = config.read_text()
    assert text.startswith("# mine\n")
    assert "# at home" in text
    again = check(hermes)
    assert (again["switches"], again["saved"]) == ({}, False)
    assert hermes.run("chat", "-q", "hello").stdout == b"ready\n"
    assert "stream_options" not in server.bodies[-1]
    assert server.bodies[-1]["parallel_tool_calls"] is False


def test_a_server_that_wants_its_thinking_back_is_found_out(
    hermes: Command, raw_server: Callable[..., RawServer]
) -> None:
    hermes.serve_model(raw_server(thinker).base_url)
    report = check(hermes)
    assert report["switches"] == {"echo_reasoning": True, "max_tokens_field": "max_completion_tokens"}
    (thinking,) = [one for one in report["findings"] if one["subject"] == "thinking sent back"]
    assert (thinking["verdict"], thinking["why"]) == (WORKS, "it must be sent back")


def test_a_server_that_wants_text_is_asked_about_thinking_with_text(
    hermes: Command, raw_server: Callable[..., RawServer]
) -> None:
    def textual(path: str, body: dict[str, Any]) -> tuple[int, object] | None:
        said = next(
            (message for message in body.get("messages", []) if message["role"] == "assistant"), {"content": "x"}
        )
        return bad("invalid message content type: <nil>") if said["content"] is None else None

    hermes.serve_model(raw_server(textual).base_url)
    report = check(hermes)
    assert verdicts(report)["an answer with content null sent back"] == FAILS
    assert verdicts(report)["thinking sent back"] == WORKS
    assert report["switches"] == {"empty_content": "empty"}


@pytest.mark.parametrize(
    ("status", "verdict", "said"),
    [(401, FAILS, "refused the API key"), (503, UNCLEAR, "overloaded")],
)
def test_nothing_is_concluded_from_a_server_that_does_not_answer(
    hermes: Command, raw_server: Callable[..., RawServer], status: int, verdict: str, said: str
) -> None:
    server = raw_server(lambda path, body: bad("no", status))
    hermes.serve_model(server.base_url)
    report = check(hermes, code=1)
    assert (report["findings"][0]["verdict"], report["requests"], report["switches"]) == (verdict, 1, {})
    assert said in report["findings"][0]["why"]
    assert {one["verdict"] for one in report["findings"][1:-1]} == {UNASKED}


def test_a_failure_in_between_leaves_its_question_open(hermes: Command, raw_server: Callable[..., RawServer]) -> None:
    """A server that is down for the conversations sent back has not refused their form."""

    def flaky(path: str, body: dict[str, Any]) -> tuple[int, object] | None:
        return bad("busy", 503) if any(one["role"] == "tool" for one in body.get("messages", [])) else None

    hermes.serve_model(raw_server(flaky).base_url)
    report = check(hermes)
    assert verdicts(report)["an answer with content null sent back"] == UNCLEAR
    assert report["switches"] == {}


def test_a_server_that_takes_a_key_is_asked_about_first(hermes: Command, raw_server: Callable[..., RawServer]) -> None:
    server = raw_server(lambda path, body: None)
    here = {"base_url": server.base_url, "models": {"m": {}}, "key_env": "HERE_KEY"}
    hermes.configure(providers={"here": here})
    hermes.environ["HERE_KEY"] = "sk-very-secret-1234"
    done = hermes.run("provider", "check")
    assert done.returncode == 1
    assert b"with your key HERE_KEY, which may cost a little" in done.stderr
    assert server.bodies == []
    assert check(hermes, "--yes")["findings"][0]["verdict"] == WORKS
    assert all(
        "authorization: Bearer sk-very-secret-1234\r\n" in head for head in server.heads if head.startswith("POST")
    )


def test_on_a_terminal_it_asks_before_it_sends_and_before_it_saves(
    hermes: Command, raw_server: Callable[..., RawServer]
) -> None:
    server = raw_server(strict)
    here = {"base_url": server.base_url, "models": {"m": {}}, "key_env": "HERE_KEY"}
    hermes.configure(providers={"here": here})
    hermes.environ["HERE_KEY"] = "sk-very-secret-1234"
    screen = pexpect.spawn(
        str(hermes.path), ["provider", "check", "here"], env=hermes.environ, timeout=WAIT_S, dimensions=(40, 200)
    )
    screen.expect(r"Asking m at here \(127.0.0.1:\d+\) with at most 13 small requests")
    screen.expect(re.escape("Go on? [y/N]"))
    assert server.bodies == []
    screen.sendline("y")
    screen.expect("a plain answer +works")
    screen.expect(re.escape("config.yaml? [y/N]"))
    screen.sendline("y")
    screen.expect("Saved in ")
    screen.expect(pexpect.EOF)
    assert (
        json.loads(hermes.run("config", "get", "--json", "providers.here.compatibility.usage_option").stdout)["value"]
        is False
    )


def test_what_cannot_be_checked_is_told(hermes: Command) -> None:
    assert b"The built-in demo needs no check" in hermes.run("provider", "check").stderr
    assert b"There is no provider opnai. Did you mean openai?" in hermes.run("provider", "check", "opnai:x").stderr


def test_hostile_variables_do_not_reach_the_wire(hermes: Command, raw_server: Callable[..., RawServer]) -> None:
    """Chat, Responses and the list of models alike get the values of the route and nothing else."""
    server = raw_server(lambda path, body: None if path.endswith("completions") else bad("none", 404))
    hermes.serve_model(server.base_url)
    hostile = ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET", "API_VERSION", "API_TYPE")
    hermes.environ |= {f"OPENAI_{name}": "hostile" for name in hostile}
    hermes.environ |= {
        "OPENAI_BASE_URL": "http://127.0.0.1:1/hostile",
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer hostile\nX-Hostile: hostile\nHost: hostile",
        "OPENAI_LOG": "debug",
        "AZURE_OPENAI_API_KEY": "hostile",
        "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/hostile",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "socks5://127.0.0.1:1",
    }
    done = hermes.run("provider", "check")
    assert done.returncode == 0
    assert b"hostile" not in done.stdout + done.stderr
    paths = {head.split(" ")[1] for head in server.heads}
    assert paths == {"/v1/chat/completions", "/v1/responses", "/v1/models"}
    assert "hostile" not in f"{server.heads} {server.bodies}".lower()
    assert not any("openai-organization" in head.lower() for head in server.heads)
