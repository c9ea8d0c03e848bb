"""The commands there are, and what each does on the hub."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent.commands.table import Command, Effect, Entered, Left, Opened, Page, Renamed, Said, When
from agent.hub import Hub
from agent.personality import PERSONALITIES
from session.models import Level


async def _help(hub: Hub, session_id: str, argument: str) -> Effect:
    written = {command: usage(command).replace("|", r"\|") for command in COMMANDS}  # in a table a bar ends a cell
    rows = [f"| `{line}` | {command.summary} |" for command, line in written.items()]
    return Page("Commands", "\n".join(["| Commands | |", "|---|---|", *rows]))


async def _new(hub: Hub, session_id: str, argument: str) -> Effect:
    cwd = Path(hub.runtime(session_id).s.session.cwd)
    return Opened(hub.create(cwd).id)


async def _model(hub: Hub, session_id: str, argument: str) -> Effect:
    runtime = hub.runtime(session_id)
    if not argument:
        route = runtime.s.route
        return Said(f"This session talks to {route.model} at {route.provider}. Change it: /model provider:model")
    route = hub.resolve(argument, runtime.s.route)
    await runtime.switch(route)
    return Said(f"This session now talks to {route.model} at {route.provider}.")


async def _personality(hub: Hub, session_id: str, argument: str) -> Effect:
    names = ", ".join(PERSONALITIES)
    if not argument:
        current = hub.runtime(session_id).s.session.personality or "none"
        return Said(f"Personality: {current}. There are: {names}, none.")
    if argument != "none" and argument not in PERSONALITIES:
        return Said(f"There is no personality {argument}. There are: {names}, none.", Level.WARNING)
    name = "" if argument == "none" else argument
    await hub.runtime(session_id).set_personality(name)
    return Said(f"Personality of this session: {argument}.")


async def _profile(hub: Hub, session_id: str, argument: str) -> Effect:
    from agent.config.profiles import homes  # what a start need not pay for

    home = hub.profile.home
    verb, _, name = argument.partition(" ")
    if verb == "rename" and name.strip():
        return Renamed(name.strip())
    if argument and argument != home.name:
        return Entered(argument)
    names = ", ".join([other.name for other in await asyncio.to_thread(lambda: list(homes(home.base)))])
    return Said(f"This is the profile {home.name}. There are: {names}. Open another: /profile NAME")


async def _quit(hub: Hub, session_id: str, argument: str) -> Effect:
    return Left()


COMMANDS: tuple[Command, ...] = (
    Command("help", "", "lists the commands", When.ALWAYS, _help),
    Command("new", "", "starts a new session in this folder", When.ALWAYS, _new),
    Command("model", "[provider:model]", "tells or changes the model of this session", When.IDLE, _model),
    Command(
        "personality", "[name|none]", "tells or changes how the model speaks in this session", When.IDLE, _personality
    ),
    Command("profile", "[name|rename name]", "tells, opens or renames a profile", When.ALWAYS, _profile),
    Command("quit", "", "leaves; every conversation stays", When.ALWAYS, _quit, aliases=("exit",)),
)


def usage(command: Command) -> str:
    """How a command is written."""
    return f"/{command.name} {command.arguments}".rstrip()
