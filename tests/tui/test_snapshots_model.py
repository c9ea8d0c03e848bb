"""Pictures of choosing a model: the providers, the models of one, and the question while something runs."""

from __future__ import annotations

from typing import Any

import pytest

from tui.screens.model import ModelScreen
from tui.screens.switch import BusySwitchScreen

VIEWS = [("dark", (80, 24)), ("light", (120, 40))]


@pytest.mark.parametrize(("theme", "size"), VIEWS, ids=[f"{theme}-{cells}x{rows}" for theme, (cells, rows) in VIEWS])
def test_providers(picture: Any, model: Any, theme: str, size: tuple[int, int]):
    async def act(scene: Any) -> None:
        await scene.send("/model")
        await scene.until(lambda: isinstance(scene.app.screen, ModelScreen) and "Need a key" in scene.text)

    config = {**model.config, "probe_local": False, "model_aliases": {"fast": "desk:gpt-oss-20b"}}
    assert picture(theme, size, config, {}, act)


def test_a_switch_while_a_turn_runs(picture: Any, model: Any):
    model.does("Go on", text="I look at the importer first.\n", is_held=True)

    async def act(scene: Any) -> None:
        await scene.send("Go on")
        await scene.until(lambda: "importer" in scene.text)
        await scene.send("/model desk:gpt-oss-20b")
        await scene.until(lambda: isinstance(scene.app.screen, BusySwitchScreen) and scene.app.screen.is_armed)

    assert picture("dark", (80, 24), model.config, {}, act)
