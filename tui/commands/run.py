"""Running a command that was typed."""

from __future__ import annotations

from agent.commands.builtin import usage
from agent.commands.parse import Call, Mistyped
from agent.commands.table import Effect, Page, Said, When
from agent.hub import Hub
from session.errors import UserError
from session.models import Level
from tui.commands.help import keys_page


async def run_command(hub: Hub, session_id: str, call: Call) -> Effect:
    """What the command comes to. What goes wrong in it is a sentence to show, like any other answer."""
    command = call.command
    if command.when is When.IDLE and hub.runtime(session_id).is_busy:
        return Said(f"{usage(command)} has to wait until this turn ends. Esc interrupts it.", Level.WARNING)
    try:
        effect = await command.act(hub, session_id, call.argument)
    except UserError as error:
        return Said(str(error), Level.ERROR)
    if command.name == "help" and isinstance(effect, Page):
        return Page(f"{effect.title} and keys", f"{effect.markdown}\n\n{keys_page()}")
    return effect


def mistyped_text(line: Mistyped) -> str:
    """What is said of a line that is almost a command (F10)."""
    return f"Unknown command /{line.name}; did you mean /{line.suggestion}? A leading space sends it as text."
