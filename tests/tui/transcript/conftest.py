"""A transcript to draw on, and the rows and events that fill it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES
from textual.widgets import TextArea

from agent.events import RowStored, Stamp, TextDelta, TurnEvent
from session.models import Finish, Message, Role
from tui.transcript.blocks import Block
from tui.transcript.drawing import Sheet
from tui.transcript.layout import Layout
from tui.transcript.palette import palette_of
from tui.transcript.view import TranscriptView, import_formatting

AT = Stamp("default", "s", 1)


class Told:
    """Makes rows with rising ids, and events about them."""

    def __init__(self) -> None:
        self._id = 0

    def row(self, role: Role, content: str, **fields: object) -> Message:
        self._id += 1
        return Message("s", role, content, 0.0, id=self._id, **fields)  # pyright: ignore[reportArgumentType]

    def prompt(self, text: str) -> Message:
        return self.row(Role.USER, text)

    def answer(self, text: str, **fields: object) -> Message:
        return self.row(Role.ASSISTANT, text, **{"finish": Finish.STOP, **fields})

    def stored(self, row: Message) -> RowStored:
        return RowStored(AT, row)

    def says(self, text: str) -> TextDelta:
        return TextDelta(AT, text)


class Screen(App[None]):
    """A transcript above a composer that holds the focus."""

    def compose(self) -> ComposeResult:
        yield TranscriptView()
        yield TextArea()


class Stage:
    """The transcript in a running app."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot
        self.app = pilot.app
        self.view = pilot.app.query_one(TranscriptView)

    @property
    def lines(self) -> list[str]:
        """What the rows say, as painted."""
        region = self.view.region
        strips = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        rows = strips[region.y : region.bottom]
        return [row.crop(region.x, region.right - 1).text.rstrip() for row in rows]

    async def apply(self, *events: TurnEvent) -> None:
        self.view.apply(events)
        await self.pilot.pause()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    app = Screen()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(TextArea).focus()
        stage = Stage(pilot)
        stage.view.styles.height = "1fr"
        app.query_one(TextArea).styles.height = 4
        stage.view.formatting_ready()
        await pilot.pause()
        yield stage


@pytest.fixture
def sheet() -> Callable[[int], Sheet]:
    variables = BUILTIN_THEMES["textual-dark"].to_color_system().generate()
    return lambda cells: Sheet(cells, palette_of(variables))


@pytest.fixture
def draw(sheet: Callable[[int], Sheet]) -> Callable[..., list[Strip]]:
    """The strips of some blocks at a width."""
    make_flow = import_formatting()

    def drawn(*blocks: Block, cells: int = 80, expanded: Sequence[int] = ()) -> list[Strip]:
        layout = Layout(blocks, sheet(cells), make_flow, set(expanded))
        return [strip for index in range(len(blocks)) for strip in layout.strips(index)]

    return drawn
