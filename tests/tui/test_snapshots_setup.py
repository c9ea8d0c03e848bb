"""Pictures of what asks by itself at a first start, and of the small screens that are in no other file."""

from __future__ import annotations

from typing import Any

from textual.events import Paste

from agent.commands.table import TrustAsked
from tui.screens.confirm import ConfirmScreen
from tui.screens.jump import JumpScreen
from tui.screens.page import PageScreen
from tui.screens.pasted import PastedScreen
from tui.screens.setting import SettingScreen
from tui.screens.setup import SetupScreen
from tui.screens.trust import TrustScreen


async def shown(scene: Any, kind: type) -> None:
    await scene.until(lambda: isinstance(scene.app.screen, kind) and getattr(scene.app.screen, "is_armed", True))


def test_a_first_model(picture: Any):
    async def act(scene: Any) -> None:
        await scene.send("/setup")
        await shown(scene, SetupScreen)

    assert picture("dark", (80, 24), {}, {}, act)


def test_trust(picture: Any):
    async def nothing() -> None: ...

    async def trusted() -> str:
        return ""

    async def act(scene: Any) -> None:
        told = "AGENTS.md, which the model would read\n.hermes/config.yaml, which names a model"
        asked = TrustAsked("/nowhere/atlas", told, trusted, nothing)
        await scene.app.push_screen(TrustScreen(asked, 0.1, lambda _: None))
        await shown(scene, TrustScreen)

    assert picture("light", (80, 24), {}, {}, act)


def test_confirm(picture: Any):
    async def act(scene: Any) -> None:
        await scene.app.push_screen(ConfirmScreen("Delete this session?", "It can't be brought back.", 0.1))
        await shown(scene, ConfirmScreen)

    assert picture("dark", (80, 24), {}, {}, act)


def test_jump(picture: Any):
    async def act(scene: Any) -> None:
        await scene.pilot.press("f7")
        await shown(scene, JumpScreen)

    assert picture("light", (120, 30), {}, {}, act)


def test_page(picture: Any):
    async def act(scene: Any) -> None:
        await scene.app.push_screen(PageScreen("Log", "| when | what |\n|---|---|\n| 01:46 | A turn was retried. |\n"))
        await shown(scene, PageScreen)

    assert picture("dark", (80, 24), {}, {}, act)


def test_a_pasted_text_being_read(picture: Any):
    async def act(scene: Any) -> None:
        scene.app.post_message(Paste("\n".join(f"tile {n} of the map" for n in range(40))))
        await scene.until(lambda: "Pasted text" in scene.app.main.composer.text)
        await scene.pilot.press("left", "ctrl+o")
        await shown(scene, PastedScreen)

    assert picture("dark", (80, 24), {}, {}, act)


def test_a_setting(picture: Any):
    async def act(scene: Any) -> None:
        await scene.pilot.press("f2", *"paste_fold_lines")
        await scene.until(lambda: scene.app.screen.focused and scene.app.screen.focused.value == "paste_fold_lines")
        await scene.pilot.press("enter")
        await shown(scene, SettingScreen)

    assert picture("light", (100, 24), {}, {}, act)
