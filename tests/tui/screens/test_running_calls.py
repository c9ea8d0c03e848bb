"""What a call tells of itself while it runs."""

from __future__ import annotations

from typing import Any


async def test_a_running_call_counts_its_seconds_but_not_where_nobody_looks_or_nothing_is_to_move(
    desk: Any, script: Any
) -> None:
    now_s = [1000.0]
    script.says("", "touch made && sleep 60")
    async with desk(clock=lambda: now_s[0]) as d:
        await d.send("wait")
        await d.asked()
        now_s[0] += 100
        await d.press("1")
        await d.until(lambda: " running" in d.text)
        for seconds, is_focused, is_calm, told in (
            (5, True, False, 5),
            (2, False, False, 5),
            (2, True, True, 5),
            (1, True, False, 10),
        ):
            now_s[0] += seconds
            d.app.app_focus, d.main.conversations.is_calm = is_focused, is_calm
            d.main.conversations.tick()
            await d.pilot.pause()
            assert f"running · {told} s" in d.text
        await d.press("escape")
        await d.idle()
