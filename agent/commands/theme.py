"""/theme and /settings: which colours the screen has, and all else that is set."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.commands.suggestions import Suggestion
from agent.commands.table import Command, Effect, Said, SettingsAsked, ThemeChosen, When
from agent.config.theme_names import BUILT_IN, theme_names
from agent.hub import Hub
from session.errors import UserError
from session.models import Level

KEY = ("display", "theme")


async def theme(hub: Hub, session_id: str, argument: str) -> Effect:
    """Tell the theme, or change it here and in config.yaml."""
    home = hub.profile.home
    names = await asyncio.to_thread(theme_names, home.themes)
    if not argument:
        loaded = await asyncio.to_thread(hub.profile.read_settings)
        return Said(f"Theme: {loaded.settings.display.theme}. There are: {', '.join(names)}.")
    name = argument.lower() if argument.lower() in BUILT_IN else argument
    if name not in names:
        return Said(f"There is no theme {argument}. There are: {', '.join(names)}.", Level.WARNING)
    from agent.config.config_file import set_setting

    try:
        await asyncio.to_thread(set_setting, home.config, KEY, name, f"{home.shown}/{home.config.name}")
    except UserError as error:
        return ThemeChosen(name, f"The theme {name} holds until hermes ends. {error}", Level.WARNING)
    return ThemeChosen(name, f"Theme: {name}.")


def themes(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    """What /theme can be followed by."""
    names = theme_names(hub.profile.home.themes)
    return [Suggestion(name, BUILT_IN.get(name, "a theme of yours")) for name in names]


async def settings(hub: Hub, session_id: str, argument: str) -> Effect:
    return SettingsAsked()


THEME_COMMANDS = (
    Command("theme", "[name]", "tells or changes the colours of the screen", When.ALWAYS, theme, complete=themes),
    Command("settings", "", "lists the settings, to change them", When.ALWAYS, settings, aliases=("config",)),
)
