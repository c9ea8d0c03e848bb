"""`!cmd` on the main screen: seen before it runs, run as the person's own, told as a card."""

from __future__ import annotations

import pytest

from tui.transcript.blocks import Prompt, ToolCard


def cards(d) -> list[tuple[str, str]]:
    blocks = d.main.conversations.view.blocks
    return [(block.shown, block.output) for block in blocks if isinstance(block, ToolCard) and block.is_ended]


async def press(d, *keys: str) -> None:
    """Keys of a person: no burst."""
    await d.pilot.pause(0.02)
    await d.press(*keys)


async def test_a_line_with_an_exclamation_mark_says_that_it_runs_and_runs(desk, script):
    async with desk() as d:
        await d.write("!echo from the shell")
        assert "runs a command" in d.text
        await press(d, "enter")
        await d.until(lambda: cards(d) and not d.main.runtime.is_busy)
        ((shown, output),) = cards(d)
        assert (shown, output.splitlines()[0]) == ("echo from the shell", "from the shell")
        assert d.draft == "" and "runs a command" not in d.text and not d.hub.pending()
        assert not [block for block in d.main.conversations.view.blocks if isinstance(block, Prompt)]
        await press(d, "up")
        assert d.draft == "!echo from the shell"
        d.main.composer.set_draft("")
        script.says("seen")
        await d.send("and?")
        await d.until(lambda: script.requests)
        assert "from the shell" in script.prompts[0] and script.prompts[0].endswith("and?")


@pytest.mark.parametrize("line", ["!", "! ", "!\n"])
async def test_a_mark_alone_runs_nothing_and_says_so(desk, line: str):
    async with desk() as d:
        d.main.sending.take(line)
        await d.until(lambda: d.toasts)
        assert "Write a command behind the !" in d.toasts[-1] and not d.main.runtime.is_busy


async def test_while_a_turn_runs_it_is_refused_and_stays_in_the_draft(desk, script):
    async with desk() as d:
        gate = script.holds("working")
        await d.send("go")
        await d.until(lambda: script.requests)
        await d.send("!echo no")
        await d.until(lambda: d.toasts)
        assert "Something still runs here" in d.toasts[-1] and d.draft == "!echo no"
        gate.set()
        await d.idle()


async def test_escape_interrupts_it(desk):
    async with desk() as d:
        await d.send("!sleep 300")
        await d.until(lambda: d.main.runtime.s.rows and "running" in d.text)
        await press(d, "escape")
        await d.idle()
        await d.until(lambda: "interrupted" in d.text)


async def test_a_leading_space_makes_it_text(desk, script):
    async with desk() as d:
        script.says("well")
        await d.send(" !important")
        await d.until(lambda: script.requests)
        assert script.prompts == [" !important"]
