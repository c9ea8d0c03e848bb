"""An area holds nothing that acts on the terminal, whichever way it came in."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.events import Paste

from tui.widgets.grapheme_area import GraphemeArea

ACTING = "a\x1b[2Jb\x00\x9b1mc\r\nd\re\tf\x7f"
SEEN = "a[2Jb1mc\nd\ne\tf"


class Desk(App[None]):
    def compose(self) -> ComposeResult:
        yield GraphemeArea()


async def test_no_text_of_an_area_acts_on_the_terminal() -> None:
    async with Desk().run_test() as pilot:
        area = pilot.app.query_one(GraphemeArea)
        area.load_text(ACTING)
        assert area.text == SEEN
        area.insert(ACTING, (0, 0))
        assert area.text == SEEN + SEEN
        area.load_text("")
        area.focus()
        pilot.app.post_message(Paste(ACTING))
        await pilot.pause()
        assert area.text == SEEN
        area.undo()
        area.redo()
        assert area.text == SEEN
