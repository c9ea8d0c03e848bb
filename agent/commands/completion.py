"""What a line that begins with a slash could become, from the table of commands."""

from __future__ import annotations

from collections.abc import Sequence

from agent.commands.builtin import COMMANDS, usage
from agent.commands.suggestions import Suggestion, beginning
from agent.hub import Hub


def suggest(hub: Hub, session_id: str, line: str) -> tuple[int, Sequence[Suggestion]]:
    """Suggestions for a line up to the cursor, and where in it what they replace begins."""
    name, blank, _ = line.partition(" ")
    if not blank:
        return 0, beginning(_NAMES, line)
    command = next((one for one in COMMANDS if name[1:].lower() in (one.name, *one.aliases)), None)
    if command is None or command.complete is None:
        return len(line), ()
    written = line[len(name) :].lstrip()
    return len(line) - len(written), beginning(command.complete(hub, session_id, written), written)


_NAMES = tuple(
    Suggestion(
        f"/{command.name} " if command.arguments else f"/{command.name}",
        command.summary,
        usage(command),
        is_whole=not command.arguments,
    )
    for command in sorted(COMMANDS, key=lambda command: command.name)
)
