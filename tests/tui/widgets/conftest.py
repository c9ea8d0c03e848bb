"""A composer alone on a screen, which notes what it sends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.events import Key, Paste
from textual.pilot import Pilot

from tui.themes import DARK
from tui.widgets.composer import Composer


class ComposerApp(App[None]):
    """Takes every draft, as the main screen does with text for the model."""

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(DARK.theme())
        self.theme = DARK.name
        self.sent: list[str] = []
        self.composer = Composer(self.take, self.exit)

    def compose(self) -> ComposeResult:
        yield self.composer

    def on_mount(self) -> None:
        self.composer.focus()

    def take(self, text: str) -> None:
        self.sent.append(text)
        self.composer.clear()


class Writing:
    def __init__(self, app: ComposerApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def draft(self) -> str:
        return self.app.composer.text

    @property
    def cursor_cell(self) -> int:
        """Cells between the start of the line and the cursor."""
        composer = self.app.composer
        return composer.cursor_screen_offset.x - composer.content_region.x

    @property
    def rows(self) -> list[str]:
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    async def press(self, *keys: str) -> None:
        """Keys as a person presses them, one after the other."""
        await self.pilot.press(*keys)

    async def burst(self, text: str) -> None:
        """Keys as a terminal without bracketed paste sends a pasted text: all at once."""
        for char in text:
            key = {"\n": "enter", "\r": "enter", "\x7f": "backspace"}.get(char)
            self.app.post_message(Key(key, None) if key else Key(char, char))
        await self.pilot.pause()
        await self.pilot.pause(0.05)

    async def paste(self, text: str, then: str = "") -> None:
        """A bracketed paste, and what comes in the same read behind it."""
        self.app.post_message(Paste(text))
        if then:
            await self.burst(then)
        else:
            await self.pilot.pause()


@pytest.fixture
def composer() -> Callable[..., AbstractAsyncContextManager[Writing]]:
    @asynccontextmanager
    async def opened(size: tuple[int, int] = (60, 18)):
        app = ComposerApp()
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            yield Writing(app, pilot)

    return opened
