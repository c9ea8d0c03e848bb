"""The palette and help: everything is in them, found by a few letters, and done from there; a draft stays."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase
from typing import Any

from textual.binding import Binding

from agent.commands.builtin import COMMANDS
from tui.commands.guide_page import guide_page
from tui.commands.help import SECTIONS
from tui.keymap import all_tables
from tui.screens.jump import JumpScreen
from tui.screens.listing import ListingScreen

ROOT = Path(__file__).resolve().parents[3]


async def opened(d: Any, key: str) -> None:
    await d.press(key)
    await d.until(lambda: isinstance(d.app.screen, ListingScreen) and d.app.screen.focused is not None)


async def closed(d: Any) -> None:
    await d.until(lambda: d.app.screen is d.main)


async def test_a_command_found_by_letters_runs_and_the_draft_stays(desk: Any) -> None:
    async with desk() as d:
        await d.write("half a thought")
        before = d.shown
        await opened(d, "ctrl+p")
        await d.press(*"new", "enter")
        await d.until(lambda: d.shown != before)
        assert d.draft == ""
        d.main.show(before)
        assert d.draft == "half a thought"


async def test_a_key_found_by_what_it_does_is_pressed_and_esc_does_nothing(desk: Any) -> None:
    async with desk() as d:
        shown = d.main.sidebar.display
        await opened(d, "ctrl+p")
        await d.press(*"sidebar", "enter")
        await d.until(lambda: d.main.sidebar.display is not shown)
        await opened(d, "ctrl+p")
        await d.press("s", "escape")
        await closed(d)
        assert (d.main.sidebar.display, d.main.focused, d.draft) == (not shown, d.main.composer, "")


async def test_a_session_is_found_by_its_title(desk: Any, script: Any) -> None:
    script.says("ok")
    async with desk() as d:
        await d.send("Sort the photographs")
        await d.idle()
        first = d.shown
        await d.send("/new")
        await d.until(lambda: d.shown != first)
        await opened(d, "ctrl+p")
        await d.until(lambda: f"session:{first}" in d.app.screen._rows._entries)
        await d.press(*"photog", "enter")
        await d.until(lambda: d.shown == first)


async def test_help_tells_the_keys_that_a_person_chose(desk: Any) -> None:
    async with desk(config="keys: {main.search: ctrl+r}\n") as d:
        await opened(d, "f1")
        await d.press(*"search all that")
        await d.until(lambda: "ctrl+r" in d.text)
        assert "ctrl+f" not in d.text
        await d.press("x", "x")
        await d.until(lambda: "Nothing is named like this." in d.text)
        await d.press("escape")
        await closed(d)


async def test_help_and_the_palette_can_be_used_on_a_small_screen(desk: Any) -> None:
    async with desk(size=(40, 12)) as d:
        await opened(d, "f1")
        assert "Commands" in d.text
        await d.press("pagedown", "down", "up", "pageup", "escape")
        await closed(d)


def test_help_has_every_key_and_command() -> None:
    listed = {binding.id for table in SECTIONS.values() for binding in table if isinstance(binding, Binding)}
    assert {binding.id for table in all_tables().values() for binding in table} == listed
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)


def test_the_guide_is_made_from_the_tables_of_keys_and_commands() -> None:
    assert (ROOT / "docs" / "guide.md").read_text() == guide_page(), "run: make guide"


async def test_a_letter_goes_to_the_part_of_the_screen_it_stands_on(desk: Any) -> None:
    async with desk() as d:
        await d.write("draft")
        for wanted in (d.main.sessions, d.main.conversations.view, d.main.composer):
            letter = ascii_lowercase[d.main.focus_chain.index(wanted)]
            await d.press("f7")
            await d.until(lambda letter=letter: f" {letter} " in d.text and isinstance(d.app.screen, JumpScreen))
            await d.press(letter)
            await d.until(lambda wanted=wanted: d.app.screen is d.main and d.main.focused is wanted)
        await d.press("f7")
        await d.until(lambda: isinstance(d.app.screen, JumpScreen))
        await d.press("escape")
        await closed(d)
        assert (d.draft, d.main.focused) == ("draft", d.main.composer)


async def test_a_second_key_of_one_burst_closes_nothing_below(desk):
    async with desk() as d:
        await d.press("ctrl+p")
        await d.until(lambda: d.app.screen is not d.main)
        palette = d.app.screen
        palette.action_leave()
        palette.action_leave()
        await d.until(lambda: d.app.screen is d.main)
        await d.write("still here")
        assert d.draft == "still here"
