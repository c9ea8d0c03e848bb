"""The first prompt to a paid provider that was merely found is confirmed once."""

from __future__ import annotations

from tui.screens.confirm import ConfirmScreen

ENV = {"OPENAI_API_KEY": "sk-test-0000000000000000"}


async def test_no_is_marked_and_leaves_the_draft(desk, script):
    async with desk(env=ENV) as d:
        await d.send("hello")
        await d.until(lambda: isinstance(d.app.screen, ConfirmScreen))
        await d.asked()
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert d.draft == "hello" and not script.requests


async def test_yes_sends_the_draft_and_is_not_asked_again(desk, script):
    script.says("ok")
    script.says("ok")
    async with desk(env=ENV) as d:
        await d.send("hello")
        await d.until(lambda: isinstance(d.app.screen, ConfirmScreen))
        await d.asked()
        await d.press("y")
        await d.until(lambda: script.requests)
        await d.idle()
        await d.send("again")
        await d.until(lambda: len(script.requests) == 2)


async def test_keys_typed_ahead_confirm_nothing(desk, script):
    async with desk(env=ENV, arm_ms=5_000) as d:
        await d.send("hello")
        await d.until(lambda: isinstance(d.app.screen, ConfirmScreen))
        await d.press("y", "1", "enter", "y")
        assert isinstance(d.app.screen, ConfirmScreen) and not script.requests
