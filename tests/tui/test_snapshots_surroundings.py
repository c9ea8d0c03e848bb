"""Pictures of what surrounds a conversation: the palette, help, settings, and the theme of the terminal's own colours."""

from __future__ import annotations

from typing import Any

import pytest

from tui.screens.listing import ListingScreen


async def typed(scene: Any, key: str, letters: str) -> None:
    await scene.pilot.press(key)
    await scene.until(lambda: isinstance(scene.app.screen, ListingScreen) and scene.app.screen.focused is not None)
    await scene.pilot.press(*letters)
    await scene.until(lambda: scene.app.screen.focused.value == letters)


def test_palette(picture: Any) -> None:
    async def act(scene: Any) -> None:
        await typed(scene, "ctrl+p", "queue")

    assert picture("dark", (80, 24), {}, {}, act)


def test_help(picture: Any) -> None:
    async def act(scene: Any) -> None:
        await typed(scene, "f1", "draft")

    assert picture("high-contrast", (120, 30), {}, {}, act)


@pytest.mark.parametrize("theme", ["light", "ansi"])
def test_settings(picture: Any, theme: str) -> None:
    async def act(scene: Any) -> None:
        await typed(scene, "f2", "paste_fold")

    assert picture(theme, (100, 24), {}, {}, act)
