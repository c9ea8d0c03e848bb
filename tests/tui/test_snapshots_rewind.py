"""Pictures of what a rewind would take back, and of the prompts to choose from."""

from __future__ import annotations

from typing import Any

import pytest

from agent.checkpoints.entry import Entry, Kind
from agent.checkpoints.limits import Why
from agent.checkpoints.plan import CHANGED_MEANWHILE, CHANGED_SINCE, PlannedFile, RestorePlan, Uncovered
from agent.elsewhere import Known
from agent.rewinding import Preview
from session.models import Finish, Message, Role
from tui.screens.rewind import PromptChoice, RewindScreen

ASKED = "Move the tile cache into a module of its own, and delete what nobody calls any more."
OLD, NEW = Entry(Kind.FILE, 0o644, b"old"), Entry(Kind.FILE, 0o644, b"new")
PLAN = RestorePlan(
    files=(
        PlannedFile("atlas/cache.py", NEW, None),
        PlannedFile("atlas/layers", Entry(Kind.FOLDER, 0o755), None),
        PlannedFile("atlas/legacy_tiles.py", None, OLD),
        PlannedFile("atlas/map.py", NEW, OLD),
        PlannedFile("bin/import", Entry(Kind.FILE, 0o755, b"old"), OLD),
        PlannedFile("README.md", NEW, OLD, CHANGED_SINCE),
        PlannedFile("tests/test_map_of_a_very_large_country_with_many_layers.py", NEW, OLD, CHANGED_MEANWHILE),
    ),
    uncovered=(Uncovered("data/world.bin", Why.TOO_LARGE), Uncovered("build", Why.IGNORED)),
)
VIEWS = [("dark", (80, 24)), ("light", (120, 40))]


def conversation() -> list[Message]:
    rows: list[Message] = []
    for asked in ("Loading a map takes four seconds. Find out why.", "Then fix it.", ASKED):
        rows += [
            Message("", Role.USER, asked, 0),
            Message("", Role.ASSISTANT, "It is done.", 1e9, finish=Finish.STOP),
        ]
    return rows


@pytest.mark.parametrize(("theme", "size"), VIEWS, ids=[f"{theme}-{cells}x{rows}" for theme, (cells, rows) in VIEWS])
def test_rewind(picture: Any, model: Any, theme: str, size: tuple[int, int]):
    """One conflict is ticked."""
    seen = Preview(Message("", Role.USER, ASKED, 1e9), ASKED, 24, PLAN, Known(0, 0))

    async def act(scene: Any) -> None:
        scene.app.push_screen(RewindScreen(seen, 0.05))
        await scene.until(lambda: isinstance(scene.app.screen, RewindScreen) and scene.app.screen.is_armed)
        await scene.pilot.press("tab", "space")
        await scene.until(lambda: "[x]" in scene.text and scene.app.screen.is_armed)

    assert picture(theme, size, model.config, {"Faster map import": conversation()}, act)


def test_prompts(picture: Any, model: Any):
    async def act(scene: Any) -> None:
        await scene.send("/rewind")
        await scene.until(lambda: isinstance(scene.app.screen, PromptChoice) and scene.app.screen.focused)

    assert picture("dark", (80, 24), model.config, {"Faster map import": conversation()}, act)
