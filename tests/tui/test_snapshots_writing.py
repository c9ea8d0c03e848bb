"""Pictures of writing a prompt. `make snapshots` accepts them as they are now; look at each before you commit it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.events import Paste

LONG = "\n".join(f"12:0{number % 10}:00 tile {number} was decoded twice" for number in range(240))


def test_commands_suggested(picture: Callable[..., bool]):
    async def act(scene: Any):
        await scene.pilot.press("/", "down", "down")
        await scene.until(lambda: scene.app.main.composer.suggestions.is_moved)

    assert picture("dark", (80, 24), {}, {}, act)


def test_a_long_paste_folded(picture: Callable[..., bool]):
    async def act(scene: Any):
        scene.app.main.composer.insert("Why is each tile decoded twice? ")
        scene.app.post_message(Paste(LONG))
        await scene.until(lambda: "Pasted text" in scene.app.main.composer.text)

    assert picture("light", (80, 24), {}, {}, act)


def test_the_queue_being_put_in_order(picture: Callable[..., bool], model: Any):
    model.does("Decode each tile once.", text="Working on it.\n", is_held=True)

    async def act(scene: Any):
        await scene.send("Decode each tile once.")
        await scene.until(lambda: "Working on it" in scene.text)
        for text in ("Then run the tests.", "Write the change down.", "Tell me what is left.", "And commit."):
            await scene.send(text)
        await scene.until(lambda: len(scene.app.main.runtime.queue) == 4)
        await scene.pilot.press("alt+q", "down", "down")
        await scene.until(lambda: scene.app.focused is scene.app.main.queue_bar and scene.is_settled)

    assert picture("dark", (80, 24), model.config, {}, act)
