"""/context, /usage, /compact and the question before a switch, on the screen."""

from __future__ import annotations

from typing import Any

import pytest

from agent.providers.base import Reply
from agent.session_run import Live
from session.models import Finish, Role, Usage
from tui.screens.context import ContextScreen
from tui.screens.report import ReportScreen
from tui.screens.switch import SwitchScreen

CONFIG = """\
model: {default: big, provider: here}
auxiliary: {titles: false}
providers:
  here:
    base_url: http://127.0.0.1:9/v1
    models:
      big: {context_length: 100000, price: {input: 2, output: 8, cache_read: 0.5}}
      small: {context_length: 6000}
      "[bold]x[/]": {context_length: 6000}
      free: {}
"""
TALE = "The harbour was quiet that morning, and nobody had seen the ferry leave. "


@pytest.fixture
def told(script):
    """Makes the model answer at length, and its server count what that takes."""

    def tell(read: int, tale: int = 80) -> None:
        usage = Usage(input=read - read // 4, output=tale * 16, cache_read=read // 4)
        script.answers.append(Reply(TALE * tale, "", "", (), Finish.STOP, usage))

    return tell


async def converse(d: Any, told: Any, turns: int = 6) -> None:
    """A conversation that is worth compacting."""
    for turn in range(turns):
        told(1_000 + 1_300 * turn)
        await d.send(f"question {turn}")
        await d.until(lambda turn=turn: len(d.script.requests) == turn + 1)
        await d.idle()
    await d.until(lambda: "○ idle" in d.text)


async def opened(d: Any, line: str, kind: type) -> Any:
    await d.send(line)
    await d.until(lambda: isinstance(d.app.screen, kind))
    await d.pilot.pause()
    return d.app.screen


def said(d: Any) -> list[str]:
    """What the conversation holds, without notices."""
    return [row.content for row in d.main.runtime.s.rows if row.role is not Role.NOTICE]


def unbroken(d: Any) -> str:
    """What stands in a box on the screen, as one line."""
    return " ".join(" ".join(line.strip(" │") for line in d.text.splitlines()).split())


# --- /context and /usage


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (24, 8)])
async def test_context_shows_the_figure_of_the_status_row_and_leaves_the_draft(desk, script, told, size):
    async with desk(size=size, config=CONFIG) as d:
        told(20_000)
        await d.send("how was the harbour?")
        await d.until(lambda: script.requests)
        await d.idle()
        screen = await opened(d, "/context", ContextScreen)
        figure = d.hub.context(d.shown)
        assert figure.used > 20_000 and "21.3k tokens are in use" in unbroken(d)
        await d.press("escape")
        assert d.app.screen is d.main and screen not in d.app.screen_stack
        await d.press(*"draft")
        assert d.draft == "draft"


async def test_what_is_written_waits_while_a_report_is_open(desk, script, told):
    async with desk(config=CONFIG) as d:
        await d.write("half a thought")
        d.main.effects.follow(await run(d, "/context"))
        await d.until(lambda: isinstance(d.app.screen, ContextScreen))
        await d.press(*"xyz", "escape")
        assert d.draft == "half a thought" and d.main.focused is d.main.composer


async def run(d: Any, line: str) -> Any:
    from agent.commands.parse import read_line
    from tui.commands.run import run_command

    return await run_command(d.hub, d.shown, read_line(line))


async def test_a_report_follows_the_size_of_the_terminal(desk, script, told):
    async with desk(size=(120, 40), config=CONFIG) as d:
        await opened(d, "/context", ContextScreen)
        assert "· · ·" in d.text
        for width in (80, 40, 24):
            await d.resize(width, 24)
            await d.pilot.pause()
            assert "Context" in d.text and "· · ·" not in d.text
            assert "Conversation" in d.text or width == 24
        await d.press("escape")
        assert d.app.screen is d.main


async def test_a_long_report_is_scrolled_to_its_end(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await converse(d, told)
        await opened(d, "/compact preview", ReportScreen)
        assert "Nothing is changed yet." in unbroken(d)
        assert "question 5" not in d.text
        await d.press(*["pagedown"] * 3)
        await d.until(lambda: "question 5" in d.text)
        await d.press(*["pageup"] * 3)
        await d.until(lambda: "Nothing is changed yet." in unbroken(d))


async def test_G12_usage_tells_what_was_read_in_all_and_changes_no_figure(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        for turn in range(10):
            told(20_000, tale=1)
            await d.send(f"again {turn}")
            await d.until(lambda turn=turn: len(script.requests) == turn + 1)
            await d.idle()
        await d.until(lambda: "20k/100k" in d.text)
        await opened(d, "/usage", ReportScreen)
        assert "here:big 10 150k 50k 160 $0.33" in unbroken(d)
        assert "25% of what was read came from a cache." in unbroken(d)
        await d.press("escape")
        await d.until(lambda: "20k/100k" in d.text and "20%" in d.text)


# --- /compact


async def test_compacting_is_shown_and_what_became_of_it(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await converse(d, told)
        before = d.hub.context(d.shown).used
        gate = script.holds("## Done\n1. The harbour was watched.")
        await d.send("/compact the ferry")
        await d.until(lambda: "● compacting" in d.text and "esc cancels" in d.text)
        assert d.main.runtime.state is Live.WORKING
        gate.set()
        await d.until(lambda: "○ idle" in d.text)
        assert any("The harbour was watched." in text for text in said(d))
        figure = d.hub.context(d.shown)
        assert figure.used < before * 0.6 and figure.is_estimate
        await d.until(lambda: "/compact undo brings them back" in " ".join(d.text.split()))


async def test_esc_cancels_a_compaction_and_nothing_is_changed(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await converse(d, told)
        before, figure = said(d), d.hub.context(d.shown)
        script.holds("## Done")
        await d.send("/compact")
        await d.until(lambda: "● compacting" in d.text and len(script.requests) == 7)
        await d.write("and then")
        await d.press("escape")
        await d.until(lambda: "○ idle" in d.text)
        assert (said(d), d.hub.context(d.shown).used, d.draft) == (before, figure.used, "and then")


async def test_a_compaction_is_undone(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await converse(d, told)
        before = said(d)
        script.says("## Done\n1. The harbour was watched.")
        await d.send("/compact")
        await d.until(lambda: said(d) != before)
        await d.idle()
        await d.send("/compact undo")
        await d.until(lambda: said(d) == before)
        await d.until(lambda: "messages are back" in " ".join(d.text.split()))


async def test_what_comes_to_nothing_is_a_sentence(desk, script):
    async with desk(config=CONFIG) as d:
        await d.send("/compact undo")
        await d.until(lambda: len(d.toasts) == 1)
        assert d.toasts[0].endswith(".")
        assert d.draft == "/compact undo"


# --- another model


async def test_G10_a_switch_to_a_model_that_is_too_small_is_asked_about_with_numbers(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await converse(d, told)
        await opened(d, "/model small", SwitchScreen)
        assert "does not fit" in unbroken(d) and "small takes 6k" in unbroken(d)
        await d.asked()
        await d.press("enter")
        await d.until(lambda: d.app.screen is d.main)
        assert d.main.runtime.s.route.model == "big"

        await opened(d, "/model small", SwitchScreen)
        await d.asked()
        await d.press("1")
        await d.until(lambda: d.main.runtime.s.route.model == "small")
        await d.until(lambda: "small" in d.text and "/6k" in d.text)


async def test_a_key_that_was_meant_for_the_draft_switches_nothing(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG, arm_ms=5_000) as d:
        await converse(d, told)
        await opened(d, "/model small", SwitchScreen)
        await d.press("1", "y", "enter")
        assert isinstance(d.app.screen, SwitchScreen)
        assert d.main.runtime.s.route.model == "big"


async def test_a_switch_that_nothing_speaks_against_is_made_at_once(desk, script, told):
    async with desk(config=CONFIG) as d:
        await d.send("/model small")
        await d.until(lambda: d.main.runtime.s.route.model == "small")
        assert d.app.screen is d.main
        assert d.toasts == ["This session now talks to small at here."]


async def test_D01_a_model_name_is_no_markup_in_the_question(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await converse(d, told)
        await opened(d, "/model [bold]x[/]", SwitchScreen)
        assert "Let [bold]x[/] go on?" in d.text and "Switch to [bold]x[/]" in d.text


async def test_G08_context_of_a_model_whose_window_nobody_told_says_how_to_set_it(desk, script, told):
    async with desk(size=(80, 24), config=CONFIG) as d:
        await d.send("/model free")
        await d.until(lambda: "/?" in d.text)
        await opened(d, "/context", ContextScreen)
        assert "hermes config set 'providers.here.models.free.context_length' TOKENS" in unbroken(d)
