"""A transcript to draw on, and the rows and events that fill it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
from textual.app import App, ComposeResult
from textual.events import MouseDown, MouseEvent, MouseMove, MouseUp
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
from tui.transcript.reading import ReadingView
from tui.transcript.view import TranscriptView, import_formatting

AT = Stamp("default", "s", 1)
WAIT_S = 15


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


class ReadingScreen(App[None]):
    """A transcript to read in above a composer that holds the focus. What is copied is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        yield ReadingView()
        yield TextArea()

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)


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

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def mouse(self, kind: type[MouseEvent], at: tuple[int, int], *, button: int = 1) -> None:
        """One report of the mouse, in cells of the transcript; `at` may lie beyond it."""
        offset = (self.view.region.x + at[0], self.view.region.y + at[1])
        await self.pilot._post_mouse_events([kind], offset=offset, button=button)  # pyright: ignore[reportPrivateUsage]
        await self.pilot.pause()

    async def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Press the button in one cell of the transcript, and let go in another one."""
        await self.mouse(MouseDown, start)
        await self.mouse(MouseMove, end)
        await self.mouse(MouseUp, end)

    def cell_of(self, words: str) -> tuple[int, int]:
        """Where words begin on the screen."""
        y = next(y for y, line in enumerate(self.lines) if words in line)
        return self.lines[y].index(words), y

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not holds():
                await self.pilot.pause(0.01)

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
async def reading() -> AsyncIterator[Stage]:
    """A transcript that has the focus."""
    app = ReadingScreen()
    async with app.run_test(size=(80, 24)) as pilot:
        stage = Stage(pilot)
        stage.view.styles.height = "1fr"
        app.query_one(TextArea).styles.height = 4
        stage.view.formatting_ready()
        stage.view.focus()
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
