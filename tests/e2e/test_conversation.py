"""A conversation from the first key to its second opening, in a real terminal and against a model server of others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

ALLOWED = "printf 'from the tool\\n' | tee made.txt"
DENIED = "touch denied.txt"
ASKED = "check the machine"

ANSWER = """## What I found

The first command ran, the *second* did not:

1. `made.txt` is **there**
2. the other is not

| file | state |
| --- | --- |
| made.txt | written |

```python
print("checked")
```

That is all."""

CALLS = [
    {"id": "call_a", "name": "terminal", "arguments": {"command": ALLOWED}},
    {"id": "call_b", "name": "terminal", "arguments": {"command": DENIED}},
]
ANSWERS = [
    {
        "match": {"userMessage": ASKED, "hasToolResult": False},
        "response": {
            "content": "I will look **twice**.",
            "toolCalls": CALLS,
            "usage": {"prompt_tokens": 11_500, "completion_tokens": 40, "total_tokens": 11_540},
        },
    },
    {
        "match": {"userMessage": ASKED, "hasToolResult": True},
        "response": {
            "content": ANSWER,
            "usage": {"prompt_tokens": 12_200, "completion_tokens": 90, "total_tokens": 12_290},
        },
    },
    {
        "match": {"userMessage": "and again"},
        "response": {
            "content": "Still the same.",
            "usage": {"prompt_tokens": 12_400, "completion_tokens": 5, "total_tokens": 12_405},
        },
    },
]

CONTEXT = re.compile(r"\S+/100k \S+ \d+%")


def conversation(screen: str) -> list[str]:
    """The lines of the transcript: right of the sidebar, above the composer."""
    lines = screen.splitlines()
    edge = max((number for number, line in enumerate(lines) if "╭" in line), default=0)
    left = lines[edge].find("╭")
    return [line[left:].rstrip() for line in lines[:edge]]


def context_figure(screen: str) -> str:
    found = CONTEXT.search(screen)
    assert found, screen
    return found.group()


def test_a_conversation_with_tools_is_there_again_after_quitting(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any]
) -> None:
    server = aimock(ANSWERS)
    desk.serve_model(server.base_url)

    first = terminal(cols=110, rows=44)
    first.wait_for("Ask for anything")
    first.send(ASKED)
    first.answer("tee made.txt", "1")
    first.answer(DENIED, "5")
    first.wait_for("That is all.")
    first.wait_for("12.3k/100k")
    before = first.wait_until(lambda screen: "idle" in screen, "the idle state")
    assert (desk.workspace / "made.txt").read_text() == "from the tool\n"
    assert not (desk.workspace / "denied.txt").exists()
    first.send("/quit")
    assert first.wait_exit() == 0

    second = terminal("tui", "--continue", cols=110, rows=44)
    second.wait_for("That is all.")
    # The answers are formatted a moment after the first frame.
    after = second.wait_until(lambda screen: conversation(screen) == conversation(before), "the same conversation")
    assert context_figure(after) == context_figure(before)
    assert "made.txt is there" in after
    assert desk.query("PRAGMA integrity_check") == [("ok",)]

    second.send("and again")
    second.wait_for("Still the same.")
    second.send("/quit")
    assert second.wait_exit() == 0


def test_the_server_was_told_what_ran_and_what_was_denied(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any]
) -> None:
    server = aimock(ANSWERS)
    desk.serve_model(server.base_url)

    term = terminal()
    term.wait_for("Ask for anything")
    term.send(ASKED)
    term.answer("tee made.txt", "1")
    term.answer(DENIED, "5")
    term.wait_for("That is all.")

    messages = server.journal()[-1]["body"]["messages"]
    results = [(m["tool_call_id"], m["content"]) for m in messages if m["role"] == "tool"]
    assert [call_id for call_id, _ in results] == ["call_a", "call_b"]
    assert "from the tool" in results[0][1]
    assert "denied" in results[1][1]


def test_the_first_run_asks_for_a_model_and_the_demo_answers_who_chooses_it(
    desk: Any, terminal: Callable[..., Any]
) -> None:
    """No model, no key, no server: what is sent to nobody is not sent, and the demo says what it is."""
    desk.configure()
    term = terminal(cols=80, rows=24)
    term.wait_for("Which model is to answer?")
    term.press("escape")
    term.wait_for("/setup opens this page again")
    term.send("hello")
    term.wait_for("nothing was sent")
    term.press("ctrl+c")
    term.wait_gone("│ hello")
    term.send("/setup")
    term.choose("The built-in demo")
    term.send("what is the meaning of life")
    term.wait_for(re.compile(r"built-in\s+demo,\s+not"))
