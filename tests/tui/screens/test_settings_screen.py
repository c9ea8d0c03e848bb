"""The list of settings: values with their source, changed in the file with its comments, wrong ones refused there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui.screens.listing import ListingScreen
from tui.screens.setting import SettingScreen


async def on(d: Any, kind: type, title: str = "") -> None:
    await d.until(lambda: isinstance(d.app.screen, kind) and d.app.screen.focused is not None and title in d.text)


async def picked(d: Any, letters: str, key: str) -> None:
    """Find a setting by letters and choose it."""
    await on(d, ListingScreen, " Settings ")
    await d.press(*letters)
    await d.until(lambda: d.app.screen._rows.marked == key)
    await d.press("enter")


async def test_a_value_is_written_with_what_was_wrong_told_and_comments_kept(desk: Any) -> None:
    async with desk(config="# mine\nagent: {max_turns: 7}\n") as d:
        await d.write("draft")
        await d.press("f2")
        await picked(d, "max_turns", "agent.max_turns")
        await on(d, SettingScreen, "7")
        await d.press("end", "x", "enter")
        await d.until(lambda: "takes a whole number from 1 to 10000" in d.text)
        await d.press("backspace", "5", "enter")
        await on(d, ListingScreen, "75 (user)")
        text = d.hub.profile.home.config.read_text()
        assert ("# mine" in text, "max_turns: 75" in text) == (True, True)
        assert any("holds from the next start" in toast for toast in d.toasts)
        await d.press("escape")
        await d.until(lambda: d.app.screen is d.main)
        assert (d.draft, d.main.focused) == ("draft", d.main.composer)


async def test_a_theme_shows_while_one_looks_for_it_and_goes_with_esc(desk: Any) -> None:
    async with desk() as d:
        await d.send("/settings")
        await picked(d, "theme", "display.theme")
        await on(d, ListingScreen, "high-contrast")
        await d.press("down")
        await d.until(lambda: d.app.theme == "hermes-light")
        await d.press("escape")
        await d.until(lambda: d.app.theme == "hermes-dark")
        await picked(d, "theme", "display.theme")
        await on(d, ListingScreen, "high-contrast")
        await d.press("down", "enter")
        await d.until(lambda: "theme: light" in d.hub.profile.home.config.read_text())
        await d.until(lambda: d.app.theme == "hermes-light")


async def test_a_setting_that_something_stands_over_is_told(desk: Any) -> None:
    async with desk(env={"HERMES_AGENT_MAX_TURNS": "9"}) as d:
        await d.press("f2")
        await picked(d, "max_turns", "agent.max_turns")
        await on(d, SettingScreen, "9")
        await d.press("end", "0", "enter")
        await d.until(lambda: any("stands over it" in toast for toast in d.toasts))


async def test_a_folder_is_trusted_after_a_question_whose_answer_is_no_by_itself(desk: Any, tmp_path: Path) -> None:
    config = tmp_path / "work" / ".hermes" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("display: {sidebar: project}\n")
    trust = tmp_path / "home" / "trust.json"
    async with desk() as d:
        await d.send("/trust")
        await d.asked()
        assert "display.sidebar" in d.text
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert not trust.exists()
        await d.send("/trust")
        await d.asked()
        await d.press("1")
        await d.until(lambda: any("holds from the next start" in toast for toast in d.toasts))
        assert str(tmp_path / "work") in trust.read_text()
        await d.send("/trust")
        await d.until(lambda: any("waits to be trusted" in toast for toast in d.toasts))
