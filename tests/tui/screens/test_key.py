"""/key asks for a key in a place of its own: what is given there is kept, and shown nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events

from agent.config.locked_file import locked
from tui.screens.key import KeyScreen
from tui.widgets.bursts import BURST_S

KEY = "sk-test-0123456789-abcdef"


async def asked(d: Any, line: str = "/key WORK_KEY") -> KeyScreen:
    await d.send(line)
    await d.until(lambda: isinstance(d.app.screen, KeyScreen))
    return d.app.screen


async def paste(d: Any, text: str) -> None:
    """As a terminal does, to whatever has the focus; then a pause, as a person makes before the next key."""
    d.app.post_message(events.Paste(text))
    await d.pilot.pause(3 * BURST_S)


def unbroken(d: Any) -> str:
    return " ".join(d.text.split())


def env_of(d: Any) -> str:
    path = d.hub.profile.home.env
    return path.read_text() if path.exists() else ""


async def test_a_pasted_key_is_kept_and_stands_nowhere_on_the_screen(desk):
    async with desk() as d:
        await asked(d)
        await paste(d, f"  {KEY}\n")
        assert "25 characters" in d.text
        assert KEY not in d.text
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert env_of(d) == f"WORK_KEY={KEY}\n"
        (toast,) = d.toasts
        assert toast == f"WORK_KEY is kept in {d.hub.profile.secrets.file} and holds from the next request."
        assert d.hub.profile.secrets.get("WORK_KEY") == KEY
        await d.press("ctrl+z")
        assert d.draft == ""
        assert d.main.runtime.s.rows == []


async def test_a_typed_key_can_be_mended(desk):
    async with desk() as d:
        await asked(d)
        await d.press(*"wrong", "ctrl+u", *"sk-abcX", "backspace", *"def")
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert env_of(d) == "WORK_KEY=sk-abcdef\n"


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_leaving_changes_nothing(desk, key: str):
    async with desk() as d:
        await asked(d)
        await paste(d, KEY)
        await d.press(key)
        await d.until(lambda: d.app.screen is d.main)
        assert (env_of(d), d.draft, d.toasts) == ("", "", [])


@pytest.mark.parametrize(("given", "words"), [(" \n", "Nothing was given"), ("one\ntwo\nthree", "one line and 3")])
async def test_what_can_be_no_key_is_said_and_asked_for_again(desk, given: str, words: str):
    async with desk() as d:
        screen = await asked(d)
        await paste(d, given)
        await d.press("enter")
        await d.until(lambda: words in d.text)
        assert (d.app.screen, env_of(d)) == (screen, "")
        await paste(d, KEY)
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert env_of(d) == f"WORK_KEY={KEY}\n"


async def test_lines_that_come_as_keys_are_one_text_of_which_nothing_reaches_the_draft(desk):
    """A terminal without bracketed paste: the first Enter must not keep a part and let the rest through."""
    async with desk() as d:
        screen = await asked(d)
        for char in "first\nsecond\nthird\n":
            d.app.post_message(events.Key("enter" if char == "\n" else char, char))
        await d.until(lambda: "one line and 3" in d.text)
        assert (d.app.screen, env_of(d), d.draft) == (screen, "", "")


async def test_an_enter_that_comes_together_with_a_paste_keeps_the_key(desk):
    """A password manager, or `tmux paste-buffer; tmux send-keys Enter`, leaves no pause between the two."""
    async with desk() as d:
        await asked(d)
        d.app.post_message(events.Paste(KEY))
        d.app.post_message(events.Key("enter", "\r"))
        await d.until(lambda: d.app.screen is d.main)
        assert env_of(d) == f"WORK_KEY={KEY}\n"


async def test_a_file_that_can_not_be_written_is_told_and_the_key_need_not_be_given_again(desk):
    async with desk() as d:
        screen = await asked(d)
        env = d.hub.profile.home.env
        env.mkdir()
        await paste(d, KEY)
        await d.press("enter")
        await d.until(lambda: "was not changed" in d.text)
        assert d.app.screen is screen
        env.rmdir()
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert env_of(d) == f"WORK_KEY={KEY}\n"


async def test_the_screen_goes_on_while_another_process_keeps_the_file(desk):
    async with desk() as d:
        screen = await asked(d)
        await paste(d, KEY)
        with locked(d.hub.profile.home.env):
            await d.press("enter", *"more", "escape")
            assert d.app.screen is screen  # it can't be taken back any more
        await d.until(lambda: d.app.screen is d.main)
        assert env_of(d) == f"WORK_KEY={KEY}\n"


@pytest.mark.parametrize("line", ["/key gsk_typedbymistake", "/key WORK_KEY sk-typedbymistake"])
async def test_a_key_in_the_place_of_a_name_comes_back_in_no_draft_and_no_sentence(desk, line: str):
    async with desk() as d:
        await d.send(line)
        await d.until(lambda: d.toasts)
        assert "takes the NAME of a key" in d.toasts[0]
        await d.press("ctrl+z")
        assert "mistake" not in "".join(d.toasts) + d.draft + d.text
        assert env_of(d) == ""


async def test_a_first_key_takes_the_place_of_the_demo_on_the_screen(desk):
    async with desk(size=(90, 30)) as d:  # without a sidebar beside its lines
        await d.until(lambda: "so the built-in demo answers" in unbroken(d))
        await asked(d, "/key GROQ_API_KEY")
        await paste(d, KEY)
        await d.press("enter")
        await d.until(lambda: "GROQ_API_KEY is set in" in unbroken(d))
        assert "so the built-in demo answers" not in unbroken(d)
        assert "at groq answers here" in d.toasts[0]


async def test_a_model_that_needs_no_key_is_told(desk):
    async with desk() as d:
        await d.send("/key")
        await d.until(lambda: d.toasts)
        assert d.toasts[0].startswith("The built-in demo needs no key.")


async def test_help_lists_it(desk):
    async with desk(size=(110, 100)) as d:
        await d.send("/help")
        await d.until(lambda: "/key [NAME]" in d.text)
