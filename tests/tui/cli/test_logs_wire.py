"""`hermes logs wire`: the last requests as a table or as JSON, without opening anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture
def asked(hermes: Command, model_says: Callable[..., str]) -> tuple[str, str]:
    """Two sessions with a request each."""
    hermes.serve_model(model_says("an answer"))
    first, second = (json.loads(hermes.run("chat", "-q", "hello", "--json").stdout) for _ in range(2))
    return first["session_id"], second["session_id"]


def wire(hermes: Command, *arguments: str) -> list[dict[str, object]]:
    done = hermes.run("logs", "wire", "--json", *arguments)
    assert done.returncode == 0
    return json.loads(done.stdout)


def test_the_requests_of_a_session_or_of_all_are_shown(hermes: Command, asked: tuple[str, str]) -> None:
    assert [one["session"] for one in wire(hermes)] == list(asked)
    (second,) = wire(hermes, "--session", asked[1])
    assert (second["session"], second["status"], second["attempt"], second["outcome"]) == (asked[1], 200, 1, "ok")
    assert [one["session"] for one in wire(hermes, "-n", "1")] == [asked[1]]
    table = hermes.run("logs", "wire").stdout.decode().splitlines()
    heads = "when session model host try status sent received opened first end outcome"
    assert " ".join(table[0].split()) == heads
    assert len(table) == 3
    assert asked[0] in table[1]
    assert "here:m" in table[1]
    assert table[1].endswith(" ok")


def test_where_no_request_was_made_that_is_said(hermes: Command) -> None:
    done = hermes.run("logs", "wire")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"No request of this profile is in the log" in done.stderr
    assert b"No request of the session s1" in hermes.run("logs", "wire", "--session", "s1").stderr


def test_lines_that_are_none_are_passed_over(hermes: Command, asked: tuple[str, str]) -> None:
    with (hermes.home / "logs" / "wire.log").open("ab") as file:
        file.write(b'half a li\n{"at": "x"}\n\xff\n')
    assert len(wire(hermes)) == 2
