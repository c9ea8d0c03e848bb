"""The app: themes, the keys that hold everywhere, and the main screen. What it shows lives in the hub."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App

from agent.hub import Hub
from tui.keys import APP_KEYS
from tui.screens.main import MainScreen
from tui.themes import THEMES, theme_for


class HermesApp(App[None], inherit_bindings=False):
    """Shows the sessions of a hub, which belongs to the running loop; `session_id` is open in it and shown first.

    Whoever runs the app closes the hub afterwards.
    """

    TITLE = "hermes"
    CSS_PATH = "hermes.tcss"
    BINDINGS = APP_KEYS
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, hub: Hub, session_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.animation_level = "none"
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = theme_for(hub.profile.settings.display.theme).name
        self.main = MainScreen(hub, session_id, clock)

    def get_default_screen(self) -> MainScreen:
        return self.main

    def action_stop(self) -> None:
        self.main.stop()
