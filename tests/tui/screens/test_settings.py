"""Settings that somebody edits while the app runs."""

from __future__ import annotations

import time
from typing import Any


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
