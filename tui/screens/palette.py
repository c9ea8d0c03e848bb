"""The palette and help: all there is to do, found by typing, and done from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent.commands.builtin import COMMANDS, usage
from agent.commands.parse import Call
from agent.stored_sessions import every_line
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of
from tui.commands.help import action_entries, binding_of, command_entries, key_entries, named_key_entries
from tui.screens.listing import ListingScreen
from tui.widgets.entry_rows import Entry
from tui.widgets.state_words import day_told

if TYPE_CHECKING:
    from tui.app import HermesApp
    from tui.keymap import Chosen
    from tui.screens.main import MainScreen

DOES = "{listing.decide} does it · {listing.leave} closes"


async def open_palette(main: MainScreen) -> None:
    """Commands, keys and sessions; the likeliest first."""
    screen = ListingScreen("Palette", "A command, a key or a session", DOES, is_ranked=True)
    screen.put([*command_entries(), *action_entries(_chosen_keys(main))])
    chosen = app_of(main).push_screen(screen, wait_for_dismiss=True)
    main.run_worker(_with_sessions(main, screen))
    await _do(main, await chosen)


async def open_help(main: MainScreen) -> None:
    """Commands and keys, by sections."""
    screen = ListingScreen("Commands and keys", "Type to filter", DOES, is_ranked=False)
    screen.put([*command_entries(), *key_entries(_chosen_keys(main))])
    await _do(main, await app_of(main).push_screen(screen, wait_for_dismiss=True))


async def open_keys(main: MainScreen) -> None:
    """Keys by sections, each with its name, and which of them the person chose."""
    screen = ListingScreen("Keys", "Type to filter", DOES, is_ranked=False)
    screen.put([*named_key_entries(_chosen_keys(main))])
    await _do(main, await app_of(main).push_screen(screen, wait_for_dismiss=True))


async def _with_sessions(main: MainScreen, screen: ListingScreen) -> None:
    try:
        lines = await every_line(main.hub)
    except UserError as error:
        main.say(str(error), Level.ERROR)
        return
    sessions = [
        Entry(f"session:{line.session.id}", "Sessions", line.session.title, "", day_told(line.session.last_activity_at))
        for line in lines
    ]
    if screen.is_attached:
        screen.put([*command_entries(), *action_entries(_chosen_keys(main)), *sessions])


async def _do(main: MainScreen, chosen: str | None) -> None:
    kind, _, name = (chosen or "").partition(":")
    match kind:
        case "command":
            await _run_command(main, name)
        case "key":
            await _run_key(main, name)
        case "session":
            main.go_to(name)
        case _:
            return


async def _run_command(main: MainScreen, name: str) -> None:
    """At once where nothing has to be added to it; else it stands in the draft, if there is none."""
    command = next(one for one in COMMANDS if one.name == name)
    if not command.arguments or command.arguments.startswith("["):
        await main.effects.run(main.runtime.id, Call(command, ""), f"/{name}")
    elif main.composer.text:
        main.say(f"Write it out: {usage(command)}")
    else:
        main.composer.set_draft(f"/{name} ")


async def _run_key(main: MainScreen, name: str) -> None:
    binding = binding_of(name)
    if binding is None:
        main.say("That key works where it is listed only.")
        return
    owner = name.partition(".")[0]
    node = app_of(main) if owner == "app" else main if owner == "main" else main.composer
    await node.run_action(binding.action)


def _chosen_keys(main: MainScreen) -> Chosen:
    return cast("HermesApp", app_of(main)).chosen_keys
