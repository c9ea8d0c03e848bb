"""/personality on the screen: chosen from a list, seen in the status row, never in the way of a draft."""

from __future__ import annotations

import pytest

from agent.personality import PERSONALITIES


def marked(d) -> str:
    return d.app.screen._rows.marked


async def opened(d) -> None:
    await d.send("/personality")
    await d.until(lambda: "Type to filter" in d.text and "concise" in d.text)


async def test_one_is_found_by_a_few_letters_read_chosen_and_shown_in_the_status_row(desk, script):
    script.says("Arr.")
    async with desk() as d:
        await opened(d)
        await d.press(*"salt weat")
        await d.until(lambda: marked(d) == "pirate" and "hearty word" in " ".join(d.text.split()))
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main and "· pirate ·" in d.text)
        assert d.main.runtime.s.session.personality == "pirate"
        assert "/personality none ends it" in d.toasts[-1]
        await d.send("one")
        await d.until(lambda: script.requests)
        assert PERSONALITIES["pirate"] in script.requests[0].messages[0]["content"]
        await d.idle()
        assert "From here on" not in d.text
        await d.send("/personality none")
        await d.until(lambda: "· pirate ·" not in d.text)


async def test_the_change_of_the_prompt_is_shown_line_by_line(desk):
    async with desk() as d:
        await d.send("/personality bard")
        await d.until(lambda: "· bard ·" in d.text)
        await opened(d)
        assert marked(d) == "bard" and "in use" in d.text
        await d.press("tab")
        await d.until(lambda: "Nothing changes." in d.text)
        await d.press(*"salt")
        await d.until(lambda: "- Speak in the manner" in d.text and "+ Talk like an old" in d.text)


async def test_esc_leaves_everything_as_it_is_and_the_focus_is_in_the_draft_again(desk):
    async with desk() as d:
        await opened(d)
        await d.press("down", "down", "ctrl+g", "escape")
        await d.until(lambda: d.app.screen is d.main)
        await d.write("a draft")
        assert d.draft == "a draft" and d.main.runtime.s.session.personality == ""
        assert d.hub.profile.settings.display.personality == ""


async def test_a_choice_for_new_sessions_too_is_said_and_holds_there(desk):
    async with desk() as d:
        await opened(d)
        await d.press(*"bard", "ctrl+g")
        await d.until(lambda: "It holds here and in new sessions" in d.text)
        await d.press("enter")
        await d.until(lambda: d.toasts)
        assert "in every new session" in d.toasts[-1]
        await d.send("/new")
        await d.until(lambda: not d.main.runtime.s.is_stored and d.main.runtime.s.session.personality == "bard")


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (160, 50)])
async def test_it_can_be_chosen_in_a_terminal_of_any_size_also_while_that_changes(desk, size):
    async with desk() as d:
        await opened(d)
        await d.resize(*size)
        await d.until(lambda: "Personality" in d.text or size == (40, 12))
        await d.press(*"bard", "enter")
        await d.until(lambda: d.main.runtime.s.session.personality == "bard")


async def test_a_click_shows_one_and_does_not_take_it(desk):
    async with desk() as d:
        await opened(d)
        await d.pilot.click(d.app.screen._rows, offset=(10, 2))
        await d.until(lambda: marked(d) == "teacher" and "bright colleague" in d.text)
        assert d.main.runtime.s.session.personality == ""


async def test_files_that_are_no_personalities_are_told_in_the_list(desk):
    async with desk() as d:
        folder = d.hub.profile.home.root / "personalities"
        folder.mkdir()
        (folder / "empty.md").write_text("")
        await opened(d)
        assert "empty.md says nothing." in str(d.app.screen.query_one("#flaws").render())


async def test_a_name_comes_before_what_others_say_of_themselves(desk):
    async with desk() as d:
        await opened(d)
        await d.press(*"pir")  # the cheerful one keeps spirits up
        await d.until(lambda: marked(d) == "pirate")
