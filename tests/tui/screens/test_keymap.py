"""Keys that a person chose: they hold everywhere, the old ones no longer do, and what is wrong is told."""

from __future__ import annotations

from typing import Any

import pytest

from tui.keymap import keymap_of, wrong_keys


async def test_chosen_keys_take_the_place_of_those_of_the_screen_and_the_draft(desk: Any, script: Any) -> None:
    script.says("heard")
    keys = "keys: {main.search: ctrl+r, composer.send: [ctrl+x, f9], prompt.older: f8}\n"
    async with desk(config=keys) as d:
        shown = d.app.screen
        await d.press("ctrl+f")
        assert d.app.screen is shown
        await d.press("ctrl+r")
        await d.until(lambda: d.app.screen is not shown)
        await d.press("escape")
        await d.until(lambda: d.app.screen is shown)
        await d.write("one")
        await d.press("enter")
        assert (d.draft, script.requests) == ("one\n", [])
        await d.press("t", "w", "o", "ctrl+x")
        await d.until(lambda: script.requests)
        assert script.prompts == ["one\ntwo"]
        await d.idle()
        await d.press("f8")
        await d.until(lambda: d.draft == "one\ntwo")


async def test_what_is_wrong_with_keys_is_told_at_the_start(desk: Any) -> None:
    async with desk(config="keys: {main.serch: ctrl+r}\n") as d:
        await d.until(lambda: any("did you mean main.search?" in toast for toast in d.toasts))


async def test_there_is_always_a_second_way_to_quit(desk: Any) -> None:
    async with desk(config="keys: {app.quit: f12}\n") as d:
        await d.press("ctrl+d")
        await d.until(lambda: not d.app.is_running)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"main.search": ("ctrl+t",)}, "ctrl+t would be main.search and main.take_back"),
        ({"reading.find": ("n",)}, "n would be reading.find and reading.next"),
        ({"main.search": ("prompt",)}, "prompt is no key"),
        ({"main.search": ("x",)}, "x is a letter of the draft"),
        ({"quit": ("f4",)}, "nothing is named quit"),
    ],
)
def test_wrong_keys_are_told(chosen: dict[str, tuple[str, ...]], told: str) -> None:
    assert any(told in sentence for sentence in wrong_keys(chosen))


def test_keys_that_are_exchanged_do_not_clash() -> None:
    chosen = {"main.search": ("ctrl+t",), "main.take_back": ("ctrl+f",)}
    assert wrong_keys(chosen) == []
    assert keymap_of(chosen) == {"main.search": "ctrl+t", "main.take_back": "ctrl+f"}
