"""`hermes model` and `hermes commands`: what they print, what they save, and what they exit with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.commands.builtin import COMMANDS

if TYPE_CHECKING:
    from conftest import Command


def told(hermes: Command, *arguments: str) -> dict[str, object]:
    done = hermes.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_the_default_is_shown_saved_and_refused_whole(hermes: Command):
    hermes.serve_model("http://127.0.0.1:9/v1")
    shown = told(hermes, "model")
    assert (shown["provider"], shown["model"], shown["window"]) == ("here", "m", 8000)
    saved = told(hermes, "model", "set", "here:big")
    assert saved["holds"] is True
    assert told(hermes, "model", "show")["model"] == "big"
    before = (hermes.home / "config.yaml").read_text()
    refused = hermes.run("model", "set", "openai:gpt-4.1")
    assert refused.returncode == 1 and b"OPENAI_API_KEY" in refused.stderr and refused.stdout == b""
    assert (hermes.home / "config.yaml").read_text() == before
    hermes.environ["HERMES_MODEL_DEFAULT"] = "here:big"
    assert hermes.run("model", "set", "here:m").returncode == 1  # it is saved, and something stronger holds


def test_the_models_are_those_that_are_known_where_the_server_does_not_answer(hermes: Command):
    hermes.serve_model("http://127.0.0.1:9/v1")
    listed = told(hermes, "model", "list", "here")
    assert [line["name"] for line in listed["models"]] == ["here:m"]
    assert "http://127.0.0.1:9/v1 gave no list" in str(listed["note"])
    servers = {line["name"]: line["standing"] for line in told(hermes, "model", "list")["providers"]}
    assert (servers["here"], servers["openai"], servers["demo"]) == ("ready", "needs a key", "ready")
    assert hermes.run("model", "list", "nobody").returncode == 1


def test_the_commands_are_those_of_the_table(hermes: Command):
    listed = told(hermes, "commands")
    assert [line["name"] for line in listed] == [command.name for command in COMMANDS]
    assert b"/model [provider:model]" in hermes.run("commands").stdout
