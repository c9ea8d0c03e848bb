"""`hermes commands`: the slash commands of the screen, from the one table."""

from __future__ import annotations

import json

from agent.commands.builtin import COMMANDS, usage
from agent.commands.table import Command
from tui.cli.console import answer, data
from tui.cli.options import CommandsOptions


def run_commands(options: CommandsOptions) -> int:
    """Always 0. With --json an array of objects is printed."""
    if options.as_json:
        data(json.dumps([_record(command) for command in COMMANDS]))
        return 0
    width = max(len(usage(command)) for command in COMMANDS)
    answer("\n".join(f"{usage(command):<{width}}  {command.summary}" for command in COMMANDS))
    return 0


def _record(command: Command) -> dict[str, object]:
    return {
        "name": command.name,
        "aliases": list(command.aliases),
        "arguments": command.arguments,
        "summary": command.summary,
        "when": command.when.value,
        "completes": command.complete is not None,
    }
