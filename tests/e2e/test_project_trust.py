"""A project that brings a model server of its own, on the screen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ANSWERS = [{"match": {"userMessage": "hello"}, "response": {"content": "I am the project's own."}}]
ASKED = "Trust this folder?"


def bring_config(desk: Any, base_url: str) -> None:
    config = {
        "model": {"default": "peer-model", "provider": "theirs"},
        "providers": {"theirs": {"base_url": base_url, "models": {"peer-model": {}}}},
    }
    (desk.workspace / ".hermes").mkdir(exist_ok=True)
    (desk.workspace / ".hermes" / "config.yaml").write_text(json.dumps(config))


def ask(terminal: Callable[..., Any], expected: str, *, is_new: bool = False) -> str:
    """The screen with the answer to hello; where the files are new, they are asked about first, and not trusted."""
    term = terminal()
    term.wait_for("Ask for anything")
    if is_new:
        term.choose("Not now")
    term.send("hello")
    screen = term.wait_for(expected)
    term.press("ctrl+q")
    term.wait_exit()
    return screen


def test_C25_a_projects_server_answers_only_while_its_file_is_the_trusted_one(
    desk: Any, terminal: Callable[..., Any], aimock: Callable[..., Any]
) -> None:
    server = aimock(ANSWERS)
    bring_config(desk, server.base_url)

    ask(terminal, "built-in demo", is_new=True)
    assert server.journal() == []

    desk.run("trust", "add", "--yes")
    assert ASKED not in ask(terminal, "the project's own")
    asked = len(server.journal())
    assert asked > 0

    bring_config(desk, f"{server.base_url}/")
    ask(terminal, "built-in demo", is_new=True)
    assert len(server.journal()) == asked
