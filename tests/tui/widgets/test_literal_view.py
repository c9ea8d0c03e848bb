"""A text that is decided on can be read to its end."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui.widgets.literal_view import LiteralView


class Reading(App[None]):
    CSS = "LiteralView { max-height: 8; }"

    def __init__(self, text: str, *, is_prose: bool = False) -> None:
        super().__init__()
        self.view = LiteralView(text, is_prose=is_prose)

    def compose(self) -> ComposeResult:
        yield self.view


async def scrolled_to_its_end(app: Reading, pilot: Pilot[None]) -> None:
    """Waits until all of it is laid out: what is scrolled to before is not the end."""
    async with asyncio.timeout(15):
        while (
            not app.view.size
            or app.view.virtual_size.height < app.view.line_count
            or app.view.is_vertical_scroll_end is False
        ):
            app.view.scroll_end(animate=False)
            await pilot.pause(0.01)


LONG = ["ls" + "x" * 300 + "; rm -rf d", "\n".join(f"line {n}" for n in range(300)) + "\nthe end"]


@pytest.mark.parametrize("text", LONG, ids=["one line", "many lines"])
async def test_C15_the_tail_of_a_long_text_is_reached_by_scrolling(text: str):
    app = Reading(text)
    async with app.run_test(size=(40, 12)) as pilot:
        await scrolled_to_its_end(app, pilot)
        rows = [app.view.render_line(y).text for y in range(app.view.size.height)]
        assert text[-6:] in "".join(row.rstrip() for row in rows)
        assert app.view.size.height <= 8


async def test_nothing_is_lost_by_wrapping():
    text = "echo " + "日本語🙂" * 40 + "\tend"
    app = Reading(text)
    async with app.run_test(size=(21, 60)) as pilot:
        await pilot.pause()
        rows = [app.view.render_line(y).text.rstrip() for y in range(app.view.line_count)]
        assert "".join(rows).replace(" ", "") == text.replace(" ", "").replace("\t", "")


async def test_prose_breaks_at_spaces():
    app = Reading("Which of the legends should they get?", is_prose=True)
    async with app.run_test(size=(18, 12)) as pilot:
        await pilot.pause()
        rows = [app.view.render_line(y).text.rstrip() for y in range(app.view.line_count)]
        assert rows == ["Which of the", "legends should", "they get?"]


async def test_D01_markup_is_text():
    app = Reading(r"[/] [bold]x[/bold] [@click=app.quit]x[/] \[x]")
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        assert app.view.render_line(0).text.rstrip() == r"[/] [bold]x[/bold] [@click=app.quit]x[/] \[x]"


async def test_lines_of_the_full_width_are_counted_as_they_are_drawn():
    """A scrollbar that comes must not make them more than were counted: the last would be out of reach."""
    app = Reading("\n".join(f"{n:040}" for n in range(12)))
    async with app.run_test(size=(40, 12)) as pilot:
        await scrolled_to_its_end(app, pilot)
        assert app.view.render_line(app.view.size.height - 1).text.strip() == "1"  # the end of the number 11
        assert app.view.line_count == app.view.virtual_size.height == 24
