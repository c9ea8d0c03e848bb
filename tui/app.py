"""The app: themes, the keys that hold everywhere, and the main screen. What it shows lives in the hub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import App
from textual.filter import LineFilter

from agent.commands.table import Entered, Renamed
from agent.config.watch import Watch
from agent.hub import Hub
from agent.profile import Profile
from agent.profiles import OpenProfiles
from agent.workspace import find_workspace
from session.errors import UserError
from session.models import Level
from tui.announcer import Announcer
from tui.background import TerminalBackground, is_dark_by
from tui.hints import NO_CHANGES, Keymap
from tui.keys import APP_KEYS
from tui.screens.main import MainScreen
from tui.textual_seams import keep_mouse_times, keep_styles, let_removed_widgets_go, remember_clipboard, to_terminal
from tui.theme_choice import Found, ThemeAsked, ThemeChoice

if TYPE_CHECKING:
    from tui.clipboard import Clipboard
    from tui.keymap import Chosen


class HermesApp(App[None], inherit_bindings=False):
    """Shows the sessions of a hub, which belongs to the running loop; `session_id` is open in it and shown first.

    Each other profile that is entered gets a main screen of its own, which stays as it was left. Whoever runs the app
    closes the profiles afterwards. `asks`: what has to be settled at a first start is asked by itself.
    """

    TITLE = "hermes"
    CSS_PATH = "hermes.tcss"
    BINDINGS = APP_KEYS
    ENABLE_COMMAND_PALETTE = False
    DEFAULT_MODE = "first"  # its own name for it can't be gone back to

    def __init__(
        self,
        profiles: OpenProfiles,
        hub: Hub,
        session_id: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        asks: bool = False,
    ) -> None:
        super().__init__()
        let_removed_widgets_go()
        keep_mouse_times()
        keep_styles(self)
        self.animation_level = "none"
        self.chosen_keys: Chosen = {}
        self.keymap: Keymap = NO_CHANGES  # what is right in them
        profile = hub.profile
        self._themes = ThemeChoice(self, is_dark=is_dark_by(profile.environ), clock=clock)
        self._first_theme = self._themes.find(profile.settings.display.theme, profile.home)
        self._themes.show(self._first_theme)
        self._first_keys = profile.settings.keys
        self._take_keys(self._first_keys)
        self._profiles = profiles
        self._clock = clock
        self.announcer = Announcer(self._write, lambda: self.app_focus, profile.environ, profile.settings.display)
        self._asks = asks
        self.main = MainScreen(hub, session_id, clock, self.announcer, asks=asks)
        self._clipboard_ways: Clipboard | None = None
        self._mains = {hub.profile.name: self.main}
        self._mode_of = {self.main: self.DEFAULT_MODE}
        first = self.main
        self.add_mode(self.DEFAULT_MODE, lambda: first)  # pyright: ignore[reportUnknownMemberType]
        self._watches = {hub.profile.home.config: Watch(hub.profile.home.config, clock)}

    def on_main_screen_profile_asked(self, event: MainScreen.ProfileAsked) -> None:
        match event.effect:
            case Entered(profile=name):
                asked = self._enter(name)
            case Renamed(profile=name):
                asked = self._rename(name)
        self.run_worker(asked, group="profile", exclusive=True)

    async def _enter(self, name: str) -> None:
        """Show another profile, in the session that was last looked at or worked in; what runs in this one goes on."""
        try:
            screen = self._mains.get(name) or await self._opened(name)
        except UserError as error:
            self.main.say(str(error), Level.ERROR)
            return
        for main in self._mains.values():
            main.is_away = main is not screen
        self.main = screen
        await self.switch_mode(self._mode_of[screen])
        await self._reload(screen.hub.profile)
        self.on_main_screen_heard_away()

    async def _rename(self, new: str) -> None:
        """Give the shown profile another name. It is closed and opened again, in the session and with the draft it has."""
        was, problem = self.main, ""
        try:
            await self._profiles.rename(was.hub.profile.name, new)
        except UserError as error:
            problem = str(error)
        if was.hub not in self._profiles.hubs:  # refused at once, it was not closed, and the name may be another's here
            names = (was.hub.profile.name, new)
            hub = next((hub for hub in self._profiles.hubs if hub.profile.name in names), None)
            if hub is not None:
                await self._replace(was, hub)
        if problem:
            self.main.say(problem, Level.ERROR)

    async def _replace(self, was: MainScreen, hub: Hub) -> None:
        """Show a profile that was opened anew in place of its closed screen."""
        session = was.runtime.s
        session_id = (await hub.open(session.id)).id if session.is_stored else hub.create(Path(session.session.cwd)).id
        del self._mains[was.hub.profile.name]
        self.main = self._added(hub, session_id)
        await self.switch_mode(self._mode_of[self.main])
        self.main.composer.take_over(was.composer)
        await self.remove_mode(self._mode_of.pop(was))

    def _added(self, hub: Hub, session_id: str) -> MainScreen:
        """A main screen for a profile. Its mode gives it a stack of screens of its own, with its own questions on it."""
        screen = self._mains[hub.profile.name] = MainScreen(
            hub, session_id, self._clock, self.announcer, asks=self._asks
        )
        mode = self._mode_of[screen] = f"profile {id(screen)}"
        self.add_mode(mode, lambda: screen)  # pyright: ignore[reportUnknownMemberType]
        return screen

    def on_main_screen_heard_away(self) -> None:
        """Tell on the screen how many sessions of the other profiles ask something."""
        others = (hub for hub in self._profiles.hubs if hub is not self.main.hub)
        self.main.asking_elsewhere = sum(len({request.session_id for request in hub.pending()}) for hub in others)
        self.main.tell()

    async def _opened(self, name: str) -> MainScreen:
        hub = await self._profiles.open(name)
        cwd = Path(self.main.runtime.s.session.cwd)
        latest = await hub.latest(find_workspace(cwd))
        runtime = await hub.open(latest) if latest else hub.create(cwd)
        screen = self._added(hub, runtime.id)
        self.main.say(self._profiles.note, Level.WARNING)
        return screen

    async def on_event(self, event: events.Event) -> None:
        """Every event of the app. Whoever edited the settings elsewhere comes back with a key or the focus."""
        if isinstance(event, events.Key | events.AppFocus) and self._has_new_settings():
            self.run_worker(self._reload(self.main.hub.profile), group="settings", exclusive=True)
        if isinstance(event, events.AppFocus | events.AppBlur):
            if not self.screen_stack:
                return  # it came while the app was ending, and Textual would look for a screen to tell
            # A screen hears of each: `app_focus` is set by keys, too, and does not change again with the focus itself.
            self.screen.post_message(type(event)())
        await super().on_event(event)

    async def on_reload_asked(self) -> None:
        await self._reload(self.main.hub.profile)
        self.main.say("Settings, keys and themes are as in the files now. The next turn makes the prompt anew.")

    def _has_new_settings(self) -> bool:
        path = self.main.hub.profile.home.config
        if path not in self._watches:
            self._watches[path] = Watch(path, self._clock)
        return self._watches[path].changed() or self._themes.changed()

    async def _reload(self, profile: Profile) -> None:
        """Take the display settings from the files as they are now; a broken one is told and changes nothing."""
        loaded = await asyncio.to_thread(profile.read_settings)
        wrong = [problem for problem in loaded.problems if not problem.is_remark]
        if wrong:
            self.main.say(wrong[0].sentence, Level.WARNING)
        if not loaded.settings.unread and not any(problem.key.startswith("display") for problem in wrong):
            await self._choose_theme(loaded.settings.display.theme)
            self.main.sessions.group_by(loaded.settings.display.sidebar)
            self.main.composer.settings = self.announcer.settings = loaded.settings.display
            self.main.conversations.show_reasoning(loaded.settings.display.reasoning)
            self._take_keys(loaded.settings.keys)
            self._tell_keys(loaded.settings.keys)
            self.main.tell()  # what it says of keys
            self.main.conversations.is_calm = loaded.settings.display.reduced_motion

    # --- keys and themes

    def _take_keys(self, chosen: Chosen) -> None:
        """Other keys than those of the tables, where the person chose some."""
        if chosen != self.chosen_keys:
            from tui.keymap import keymap_of

            self.chosen_keys = chosen
            self.keymap = keymap_of(chosen)
            self.set_keymap(dict(self.keymap))

    def _tell_keys(self, chosen: Chosen) -> None:
        if chosen:
            from tui.keymap import wrong_keys

            for sentence in wrong_keys(chosen):
                self.main.say(sentence, Level.WARNING)

    def on_ready(self) -> None:
        self._tell_wrong(self._first_theme)
        self._tell_keys(self._first_keys)
        self.app_resume_signal.subscribe(self, self._tell_again)  # pyright: ignore[reportUnknownMemberType]

    def on_terminal_background(self, event: TerminalBackground) -> None:
        if self._themes.hear(is_dark=event.is_dark):
            self.run_worker(self._choose_theme(self._themes.setting), group="theme")

    def on_theme_asked(self, event: ThemeAsked) -> None:
        self.run_worker(self._choose_theme(event.effect.name), group="theme")
        self.main.say(event.effect.text, event.effect.level)

    def show_theme(self, name: str) -> None:
        """Show a theme that nobody has settled on yet, or go back to the one before."""
        self.run_worker(self._choose_theme(name), group="theme", exclusive=True)

    async def _choose_theme(self, setting: str) -> None:
        found = await asyncio.to_thread(self._themes.find, setting, self.main.hub.profile.home)
        self._themes.show(found)
        self._tell_wrong(found)

    def _tell_wrong(self, found: Found) -> None:
        for sentence in found.wrong:
            self.main.say(sentence, Level.WARNING)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What each line goes through before it is written."""
        return [*self._themes.filters, *super().get_line_filters()]

    # --- beside the screen

    def _tell_again(self, _app: App[object]) -> None:
        self.announcer.forget()
        self.main.tell()

    def _write(self, sequence: str) -> None:
        """Send bytes to the terminal as they are, where there is one."""
        if not (self.is_headless or self.is_web):
            to_terminal(self, sequence)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by the best way there is, and say which one it was."""
        remember_clipboard(self, text)
        self.run_worker(self._copy(text), group="copy")

    async def _copy(self, text: str) -> None:
        from tui.clipboard import Clipboard

        if self._clipboard_ways is None:
            profile = self.main.hub.profile
            write = None if self.is_headless or self.is_web else partial(to_terminal, self)
            self._clipboard_ways = Clipboard(profile.environ, write, profile.home.root)
        outcome = await self._clipboard_ways.copy(text)
        self.main.say(outcome.sentence, outcome.level)

    def action_stop(self) -> None:
        self.main.stop()
