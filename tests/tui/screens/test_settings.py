"""Settings that somebody edits while the app runs."""

from __future__ import annotations

import time
from typing import Any

from rich.color import ColorType

from tui.background import TerminalBackground


class Clock:
    """The real clock, which a test may put forward."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


async def test_a_theme_written_in_the_file_holds_at_the_next_key(desk: Any) -> None:
    clock = Clock()
    async with desk(clock=clock) as d:
        config = d.hub.profile.home.config
        config.write_text("probe_local: false\ndisplay: {theme: light}\n")
        clock.ahead_s += 2
        await d.press("a")
        await d.until(lambda: d.app.theme == "hermes-light")
        assert (d.draft, d.toasts) == ("a", [])


async def test_a_broken_file_is_told_once_and_changes_nothing(desk: Any) -> None:
    clock = Clock()
    async with desk(clock=clock, theme="light") as d:
        config = d.hub.profile.home.config
        config.write_text("display: [\n}")
        clock.ahead_s += 2
        await d.press("a")
        await d.until(lambda: d.toasts)
        clock.ahead_s += 2
        await d.press("b")
        assert (len(d.toasts), "line 2" in d.toasts[0]) == (1, True)
        assert (d.app.theme, d.draft) == ("hermes-light", "ab")
        config.write_text("display: {theme: dark}\n")
        clock.ahead_s += 2
        await d.press("c")
        await d.until(lambda: d.app.theme == "hermes-dark")


async def test_the_sidebar_is_put_together_as_the_settings_say_at_once(desk: Any) -> None:
    clock = Clock()
    async with desk(clock=clock) as d:
        await d.until(lambda: "Today" in d.text)
        d.hub.profile.home.config.write_text("probe_local: false\ndisplay: {sidebar: project}\n")
        clock.ahead_s += 2
        await d.press("a")
        await d.until(lambda: "Today" not in d.text and "New session" in d.text)


# --- themes


def colors_shown(d: Any) -> set[ColorType]:
    """How the colours on the screen are told to the terminal."""
    styles = [segment.style for strip in d.app.screen._compositor.render_strips() for segment in strip if segment.style]
    return {color.type for style in styles for color in (style.color, style.bgcolor) if color is not None}


async def test_the_ansi_theme_leaves_every_colour_to_the_terminal(desk: Any, script: Any) -> None:
    script.says("# Head\n\n`code` and **bold**\n\n```python\nx = 'a' + 1  # note\n```\n\n> quoted\n")
    async with desk(theme="ansi") as d:
        await d.send("go")
        await d.idle()
        await d.until(lambda: "quoted" in d.text and d.main.conversations.view.is_formatted)
        for key in ("f6", "alt+o"):
            await d.press(key)
            await d.pilot.pause()
            assert colors_shown(d) <= {ColorType.DEFAULT, ColorType.STANDARD}


async def test_auto_follows_what_the_terminal_tells_of_itself(desk: Any) -> None:
    async with desk(theme="auto") as d:
        assert d.app.theme == "hermes-dark"
        d.app.post_message(TerminalBackground(is_dark=False))
        await d.until(lambda: d.app.theme == "hermes-light")
    async with desk(theme="high-contrast", env={"COLORFGBG": "0;15"}) as d:
        assert d.app.theme == "hermes-contrast-light"


async def test_a_chosen_theme_shows_at_once_and_stands_in_the_file(desk: Any) -> None:
    async with desk(config="# kept\n") as d:
        await d.send("/theme light")
        await d.until(lambda: d.app.theme == "hermes-light")
        text = d.hub.profile.home.config.read_text()
        assert ("theme: light" in text, "# kept" in text, d.draft) == (True, True, "")
        await d.send("/theme nope")
        await d.until(lambda: any("no theme nope" in toast for toast in d.toasts))
        assert d.app.theme == "hermes-light"


async def test_an_own_theme_shows_its_colours_and_what_is_changed_in_it(desk: Any) -> None:
    clock = Clock()
    async with desk(clock=clock) as d:
        folder = d.hub.profile.home.themes
        folder.mkdir()
        (folder / "mine.yaml").write_text('base: light\ncolors: {primary: "#003366"}\n')
        await d.send("/theme mine")
        await d.until(lambda: d.app.current_theme.primary == "#003366")
        (folder / "mine.yaml").write_text('base: light\ncolors: {primary: "#660033", more: 1}\n')
        clock.ahead_s += 2
        await d.press("a")
        await d.until(lambda: d.app.current_theme.primary == "#660033")
        await d.until(lambda: any("mine.yaml, line 2: No colour has this name" in toast for toast in d.toasts))


async def test_a_theme_that_is_not_there_is_told_at_the_start(desk: Any) -> None:
    async with desk(theme="../../etc/nord") as d:
        await d.until(lambda: any("There is no theme" in toast for toast in d.toasts))
        assert d.app.theme == "hermes-dark"
