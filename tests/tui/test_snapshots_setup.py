"""A picture of the page of a first start."""

from __future__ import annotations

from typing import Any

from tui.screens.setup import SetupScreen


def test_a_first_model(picture: Any):
    async def act(scene: Any) -> None:
        await scene.send("/setup")
        await scene.until(lambda: isinstance(scene.app.screen, SetupScreen) and scene.app.screen.is_armed)

    assert picture("dark", (80, 24), {}, {}, act)
