"""One setting whose value is written: what it takes, and what is wrong with what was written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tui.hints import with_keys
from tui.keys import SETTING_KEYS
from tui.screens.modal import Modal
from tui.widgets.line_field import LineField


class SettingScreen(Modal[bool]):
    """Asks for a value until it is one. `save` keeps it and gives a complaint, "" where there is none."""

    BINDINGS = SETTING_KEYS
    DEFAULT_CSS = """
    SettingScreen { align: center middle; background: $background 60%; }
    SettingScreen #box {
        width: 80%; max-width: 84; height: auto; max-height: 90%; background: $surface; padding: 0 1;
        border: round $border; border-title-color: $text-primary; border-title-style: bold;
        border-subtitle-color: $foreground 68%;
    }
    SettingScreen Static { height: auto; color: $foreground 68%; margin: 0 1; }
    SettingScreen Input, SettingScreen Input:focus { height: 1; border: none; padding: 0 1; background: $panel; margin: 1 1; }
    SettingScreen #wrong { color: $text-warning; }
    """

    def __init__(self, key: str, about: str, value: str, save: Callable[[str], Awaitable[str]]) -> None:
        super().__init__()
        self._key, self._about, self._save = key, about, save
        self._field = LineField(value, placeholder="empty: as by default", compact=True, select_on_focus=False)
        self._field.cursor_blink = False
        self._wrong = Static(Content(""), id="wrong")

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._key)
            box.border_subtitle = Content(with_keys(self, "enter saves · {setting.leave} leaves it"))
            yield Static(Content(self._about))
            yield self._field
            yield self._wrong

    def on_mount(self) -> None:
        self._field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.run_worker(self._take(event.value), exclusive=True)

    async def _take(self, text: str) -> None:
        complaint = await self._save(text)
        if complaint:
            self._wrong.update(Content(complaint))
        else:
            self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)
