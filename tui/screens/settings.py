"""All settings as a list: each with its value and where that came from, to be changed in config.yaml."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from agent.config.config_file import set_setting, unset_setting
from agent.config.layers import DEFAULT, USER
from agent.config.table import Choice, Command, Names, Setting, allowed, find, split_key
from agent.config.theme_names import BUILT_IN, theme_names
from agent.config.values import Shown, shown
from agent.literal import visible
from session.errors import UserError
from session.models import Level
from tui.app_of import app_of
from tui.screens.listing import ListingScreen
from tui.screens.setting import SettingScreen
from tui.widgets.entry_rows import Entry

if TYPE_CHECKING:
    from tui.app import HermesApp
    from tui.screens.main import MainScreen

THEME = "display.theme"
CHANGES, SAVES = (
    "{listing.decide} changes it · {listing.leave} closes",
    "{listing.decide} saves · {listing.leave} leaves it",
)
LIVE = ("display", "keys")  # groups that are read anew as soon as the file has changed
ABOVE = "{key} is saved, but what the {layer} says stands over it."
LATER = "{key} is saved and holds from the next start."


async def open_settings(main: MainScreen) -> None:
    """Show the list, change what is chosen, and show it again."""
    settings = Settings(main)
    key: str | None = ""
    while key is not None:
        key = await settings.choose(key)
        if key:
            await settings.change(key)


class Settings(Struct, frozen=True):
    """The settings of a profile, in its file."""

    main: MainScreen

    async def choose(self, marked: str) -> str | None:
        screen = ListingScreen("Settings", "Type to filter", CHANGES, is_ranked=False)
        screen.put([self._entry(one) for one in await self._shown()], marked)
        return await app_of(self.main).push_screen(screen, wait_for_dismiss=True)

    async def change(self, key: str) -> None:
        setting = find(split_key(key))
        one = next((one for one in await self._shown() if one.key == key), None)
        if setting is None or one is None:
            return
        if key == THEME or isinstance(setting.kind, Choice):
            await self._choose_value(one, setting)
        elif setting.is_one_value or isinstance(setting.kind, Names | Command):
            await self._write_value(one, setting)
        else:
            self.main.say(f"{key} has parts; write it in {self._file}.")

    # --- inside

    @property
    def _file(self) -> str:
        home = self.main.hub.profile.home
        return f"{home.shown}/{home.config.name}"

    async def _shown(self) -> list[Shown]:
        return await asyncio.to_thread(lambda: shown(self.main.hub.profile.read_settings()))

    def _entry(self, one: Shown) -> Entry:
        value = self.main.hub.profile.secrets.mask(_text(one.value))
        told = value if one.layer == DEFAULT else f"{value} ({one.layer})"
        return Entry(one.key, one.key.partition(".")[0], one.key, one.about, told)

    async def _choose_value(self, one: Shown, setting: Setting) -> None:
        words = list(setting.kind.values) if isinstance(setting.kind, Choice) else []
        names = ["true", "false"] if "true" in words else words
        if one.key == THEME:
            names = await asyncio.to_thread(theme_names, self.main.hub.profile.home.themes)
        entries = [Entry(name, one.about, name, BUILT_IN.get(name, "") if one.key == THEME else "") for name in names]
        screen = ListingScreen(one.key, "Type to filter", SAVES, is_ranked=False)
        app = cast("HermesApp", app_of(self.main))
        if one.key == THEME:
            screen.on_marked = app.show_theme
        screen.put(entries, _text(one.value))
        chosen = await app_of(self.main).push_screen(screen, wait_for_dismiss=True)
        if chosen is None:
            if one.key == THEME:
                app.show_theme(_text(one.value))
        elif complaint := await self._save(one, chosen):
            self.main.say(complaint, Level.WARNING)

    async def _write_value(self, one: Shown, setting: Setting) -> None:
        text = _text(one.value)
        is_secret = self.main.hub.profile.secrets.mask(text) != text
        about = f"{one.about} Takes {allowed(setting)}."
        screen = SettingScreen(one.key, about, "" if is_secret else text, lambda written: self._save(one, written))
        await app_of(self.main).push_screen(screen, wait_for_dismiss=True)

    async def _save(self, one: Shown, text: str) -> str:
        """Keep a value, or take it out where it is empty; what is wrong with it."""
        path, keys = self.main.hub.profile.home.config, split_key(one.key)
        if self.main.hub.profile.secrets.mask(text) != text:
            return "This holds a key, and keys belong in .env only: /key asks for one."
        try:
            if text.strip():
                await asyncio.to_thread(set_setting, path, keys, text, self._file)
            else:
                await asyncio.to_thread(unset_setting, path, keys, self._file)
        except UserError as error:
            return str(error)
        if one.layer not in (DEFAULT, USER):
            self.main.say(ABOVE.format(key=one.key, layer=one.layer), Level.WARNING)
        elif keys[0] not in LIVE:
            self.main.say(LATER.format(key=one.key))
        return ""


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return visible(value)
        case list():
            return ", ".join(str(one) for one in cast("list[object]", value))
        case _:
            return json.dumps(value, ensure_ascii=False)
