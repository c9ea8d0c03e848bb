"""Which theme the screen has: the one of the settings, on a terminal that is dark or light."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from msgspec import Struct
from textual.app import App
from textual.filter import LineFilter
from textual.message import Message
from textual.theme import Theme

from agent.commands.table import ThemeChosen
from agent.config.home import Home
from agent.config.theme_names import AUTO, own_themes, theme_file, theme_names
from agent.config.watch import Watch
from tui.dimming import Dimming
from tui.themes import built_in


class ThemeAsked(Message):
    """A command leads to another theme: the app's to show."""

    def __init__(self, effect: ThemeChosen) -> None:
        super().__init__()
        self.effect = effect


class Found(Struct, frozen=True):
    """A theme, and what is wrong with it, in sentences. `file` is that of a theme of the person's own."""

    setting: str
    theme: Theme
    wrong: tuple[str, ...] = ()
    file: Path | None = None


class ThemeChoice:
    """Gives the app its theme, and another one when the setting, the terminal or the theme's file says so."""

    def __init__(self, app: App[None], *, is_dark: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.setting = AUTO
        self.filters: Sequence[LineFilter] = ()
        self._app = app
        self._is_dark = is_dark
        self._clock = clock
        self._watch: Watch | None = None
        self._numbers = count(1)

    def hear(self, *, is_dark: bool) -> bool:
        """The terminal told what it is; whether that is news."""
        is_news = is_dark is not self._is_dark
        self._is_dark = is_dark
        return is_news

    def changed(self) -> bool:
        """Whether the theme's file is another one now."""
        return self._watch is not None and self._watch.changed()

    def find(self, setting: str, home: Home) -> Found:
        """The theme that `display.theme` asks for, one of a person's own from this home. May read a file."""
        name = setting.strip() or AUTO
        base = built_in(name.lower(), is_dark=self._is_dark)
        return self._find_own(name, home) if base is None else Found(name, base.theme())

    def show(self, found: Found) -> None:
        self.setting = found.setting
        self._watch = None if found.file is None else Watch(found.file, self._clock)
        self.filters = (Dimming(found.theme.foreground or "ansi_default"),) if found.theme.ansi else ()
        self._app.register_theme(found.theme)
        self._app.theme = found.theme.name

    def _find_own(self, name: str, home: Home) -> Found:
        base = built_in(AUTO, is_dark=self._is_dark)
        assert base is not None
        folder = home.themes
        if name not in own_themes(folder):
            told = f"There is no theme {name}. There are: {', '.join(theme_names(folder))}."
            return Found(name, base.theme(), (told,))
        from tui.user_themes import read_theme  # reading YAML is for those who wrote some

        path = theme_file(folder, name)
        # Textual draws nothing anew for a theme that is there under the same name already.
        own_name = f"own-{name}-{next(self._numbers)}"
        read = read_theme(path, f"{home.shown}/{folder.name}/{path.name}", own_name, is_dark=self._is_dark)
        return Found(name, read.theme or base.theme(), tuple(problem.sentence for problem in read.problems), path)
