"""The commands there are, and what each does on the hub."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent.commands.approvals import approvals, mode, modes, yolo
from agent.commands.context import compact, tell_context, tell_usage
from agent.commands.copy import copy, history
from agent.commands.draft import DRAFT_COMMANDS
from agent.commands.facts import FACT_COMMANDS
from agent.commands.key import ask_key
from agent.commands.model import model, models
from agent.commands.personality import PERSONALITY_COMMAND
from agent.commands.processes import processes
from agent.commands.rewind import REWIND_COMMANDS
from agent.commands.screen import SCREEN_COMMANDS
from agent.commands.sessions import SESSION_COMMANDS
from agent.commands.setup import SETUP_COMMAND
from agent.commands.table import Command, Effect, Entered, HelpAsked, Left, Opened, Renamed, Said, When
from agent.commands.theme import THEME_COMMANDS
from agent.commands.trust import TRUST_COMMAND
from agent.commands.working import WORKING_COMMANDS
from agent.hub import Hub
from session.models import EndReason


async def _help(hub: Hub, session_id: str, argument: str) -> Effect:
    return HelpAsked()


async def _new(hub: Hub, session_id: str, argument: str) -> Effect:
    """The session that is left is closed by it, unless something still runs or waits there."""
    left = hub.runtime(session_id)
    new = hub.create(Path(left.s.session.cwd))
    if left.s.is_stored and not (left.is_busy or left.queue or left.is_deleted):
        await hub.end(session_id, EndReason.NEW)
    return Opened(new.id)


async def _profile(hub: Hub, session_id: str, argument: str) -> Effect:
    from agent.config.profiles import create, homes  # what a start need not pay for

    home = hub.profile.home
    verb, _, name = argument.partition(" ")
    if verb == "rename" and name.strip():
        return Renamed(name.strip())
    if verb == "new" and name.strip():
        return Entered((await asyncio.to_thread(create, home.base, name.strip())).name)
    if argument and argument != home.name:
        return Entered(argument)
    names = ", ".join([other.name for other in await asyncio.to_thread(lambda: list(homes(home.base)))])
    return Said(
        f"This is the profile {home.name}. There are: {names}. Open another: /profile NAME. A new one, with keys and "
        "sessions of its own: /profile new NAME"
    )


async def _key(hub: Hub, session_id: str, argument: str) -> Effect:
    return ask_key(hub, session_id, argument)


async def _quit(hub: Hub, session_id: str, argument: str) -> Effect:
    return Left()


COMMANDS: tuple[Command, ...] = (
    Command("help", "", "lists the commands", When.ALWAYS, _help),
    Command("new", "", "starts a new session in this folder", When.ALWAYS, _new),
    *SESSION_COMMANDS,
    *REWIND_COMMANDS,
    *WORKING_COMMANDS,
    *DRAFT_COMMANDS,
    *FACT_COMMANDS,
    Command(
        "model",
        "[provider:model] [--once|--global]",
        "chooses the model: for this session, for the next turn, or also for every new session",
        When.ALWAYS,
        model,
        complete=models,
    ),
    SETUP_COMMAND,
    PERSONALITY_COMMAND,
    Command(
        "context",
        "",
        "tells what fills the context, and what compacting would do",
        When.ALWAYS,
        tell_context,
        aliases=("ctx",),
    ),
    Command("usage", "", "tells the tokens that were used, and what they cost", When.ALWAYS, tell_usage),
    Command(
        "compact",
        "[focus|preview|undo]",
        "makes the conversation smaller: a summary takes the place of the most of it",
        When.ALWAYS,
        compact,
        aliases=("compress",),
    ),
    Command("approvals", "[revoke number]", "tells or takes back what runs unasked", When.ALWAYS, approvals),
    Command(
        "mode",
        "[ask|accept-edits|plan|yolo]",
        "tells or changes how much is asked",
        When.ALWAYS,
        mode,
        complete=modes,
    ),
    Command("yolo", "", "asks about nothing in this session; a second time, asks again", When.ALWAYS, yolo),
    Command(
        "profile", "[name|new name|rename name]", "tells, opens, makes or renames a profile", When.ALWAYS, _profile
    ),
    Command("processes", "[stop [number]]", "tells or stops what commands left running", When.ALWAYS, processes),
    Command("copy", "[n|code]", "copies the last answer, the n-th last, or the last code", When.ALWAYS, copy),
    Command("history", "", "lists the prompts of this conversation, to go to one", When.ALWAYS, history),
    *THEME_COMMANDS,
    TRUST_COMMAND,
    *SCREEN_COMMANDS,
    Command("key", "[NAME]", "asks for a key, hidden, and keeps it", When.ALWAYS, _key, may_hold_secret=True),
    Command("quit", "", "leaves; every conversation stays", When.ALWAYS, _quit, aliases=("exit",)),
)


def usage(command: Command) -> str:
    """How a command is written."""
    return f"/{command.name} {command.arguments}".rstrip()
