"""The list of personalities, at the sizes and in the themes it is mostly seen in."""

from __future__ import annotations

from typing import Any


async def choosing(scene: Any) -> None:
    await scene.send("/personality bard")
    await scene.until(lambda: scene.hub.runtime(scene.app.main.runtime.id).s.session.personality)
    scene.app.clear_notifications()
    await scene.send("/personality")
    await scene.until(lambda: "Type to filter" in scene.text)
    for _ in range(2):
        await scene.pilot.press("up")


async def changing(scene: Any) -> None:
    await choosing(scene)
    await scene.pilot.press("tab")
    await scene.until(lambda: "stays as it is" in scene.text)


def test_personalities(picture, model) -> None:
    assert picture("dark", (80, 24), model.config, {}, choosing)


def test_the_change_of_a_personality(picture, model) -> None:
    assert picture("light", (140, 40), model.config, {}, changing)
