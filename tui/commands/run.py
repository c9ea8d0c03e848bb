"""Running a command that was typed."""

from __future__ import annotations

from agent.commands.parse import Call, Mistyped
from agent.commands.table import Effect, Said, When
from agent.hub import Hub
from session.errors import UserError
from session.models import Level


async def run_command(hub: Hub, session_id: str, call: Call) -> Effect:
    """What the command comes to. What goes wrong in it is a sentence to show, like any other answer."""
    command = call.command
    if command.when is When.IDLE and hub.runtime(session_id).is_busy:
        from agent.commands.builtin import usage

        return Said(f"{usage(command)} has to wait until this turn ends or is interrupted.", Level.WARNING)
    try:
        return await command.act(hub, session_id, call.argument)
    except UserError as error:
        return Said(str(error), Level.ERROR)


def mistyped_text(line: Mistyped) -> str:
    """What is said of a line that is almost a command (F10)."""
    return f"Unknown command /{line.name}; did you mean /{line.suggestion}? A leading space sends it as text."
