"""Once markdown is imported, nothing shows its source first."""

from __future__ import annotations

from tui.screens.page import PageScreen


async def test_a_page_is_formatted_in_its_first_frame(desk):
    async with desk() as d:
        d.app.push_screen(PageScreen("Told", "| Command | |\n|---|---|\n| `/personality` | speaks |"))
        await d.until(lambda: "esc closes" in d.text)
        assert "/personality" in d.text and "`" not in d.text and "|---" not in d.text


async def test_a_session_that_is_opened_later_is_formatted_in_its_first_frame(desk, script):
    script.says("It is **four**.")
    async with desk() as d:
        await d.send("two and two?")
        await d.idle()
    async with desk() as d:
        d.main.conversations.view.formatting_ready()
        await d.until(lambda: "two and two?" in d.text)
        await d.press("alt+down")
        await d.until(lambda: "It is" in d.text)
        assert "It is four." in d.text
