"""The transcript on screen: a line-API view of cached strips.

It lays out nothing itself and mounts nothing: the compositor is handed strips that exist already, and only rows that
changed are written. That is why `virtual_size` is not reactive here and scrolling never goes through animation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import App
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.strip import Strip
from textual.theme import Theme

from agent.config.display_settings import ReasoningShown
from agent.events import TurnEvent
from session.models import Message
from tui.transcript.blocks import Block, Reasoning, ToolCard
from tui.transcript.document import Document
from tui.transcript.drawing import Sheet, draw_intro
from tui.transcript.layout import FlowMaker, Layout
from tui.transcript.page import Anchor, Page
from tui.transcript.palette import palette_of
from tui.transcript.source import may_fold

WHEEL_LINES = 3
WARM_AFTER_S = 0.25  # the first key after the first frame must not wait for imports
NEW_BELOW = " ↓ new below "


class TranscriptView(ScrollView, can_focus=False):
    """Shows one session's conversation. Follows the end until the person scrolls up; End follows again."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TranscriptView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; scrollbar-background: $background;
        scrollbar-background-hover: $background; scrollbar-background-active: $background; }
    """

    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._document = Document(clock)
        self._intro = ""
        self._flow_maker: FlowMaker | None = None
        self._sheet = Sheet(1, palette_of({}))
        self._layout = Layout(self._document.blocks, self._sheet)
        self._page = Page(self._layout, 1)
        self._fitted = Size(0, 0)
        self._rows: list[Strip] = []
        self._places: list[Anchor] = []  # of the rows on screen
        self._has_news = False
        self._reasoning = ReasoningShown.FOLDED

    # What the app calls

    def show_reasoning(self, shown: ReasoningShown) -> None:
        """Show so much of what the model thinks, and fold what the person unfolded of it."""
        if shown is self._reasoning:
            return
        self._reasoning = shown
        self._layout.expanded -= {i for i in self._layout.expanded if isinstance(self.blocks[i], Reasoning)}
        if self._fitted:
            self._fit()

    def open(self, rows: Sequence[Message], intro: str = "", seq: int = -1) -> None:
        """Show this conversation from its end, as it was at the event `seq`; `intro` stands there while it has no rows."""
        self._document.reset(rows, seq)
        self._intro = intro
        self._has_news = False
        self._layout = Layout(self._document.blocks, self._sheet, self._flow_maker)
        self._page = Page(self._layout, self._fitted.height)
        self._show()

    def apply(self, happened: Sequence[TurnEvent]) -> None:
        """Take what happened and show it at once; call it no more often than frames are wanted."""
        size = len(self._document.blocks)
        first = self._document.apply(happened)
        if first == len(self._document.blocks) == size:
            return
        self._layout.sync(first)
        self._has_news = not self._page.is_following
        self._show()

    def tick(self) -> None:
        """A second went by: calls that run tell for how long."""
        first = self._document.tick()
        if first < len(self._document.blocks):
            self._layout.sync(first)
            self._show()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._page.follow()
        self._show()

    @property
    def is_following(self) -> bool:
        return self._page.is_following

    @property
    def document(self) -> Document:
        return self._document

    @property
    def blocks(self) -> Sequence[Block]:
        return self._document.blocks

    @property
    def laid(self) -> Layout:
        """The blocks as they are laid out for the width and the theme of now."""
        return self._layout

    @property
    def page(self) -> Page:
        return self._page

    @property
    def is_formatted(self) -> bool:
        return self._flow_maker is not None

    def formatting_ready(self) -> None:
        """Markdown can be drawn from now on (imported here, unless a thread has done it already)."""
        if self._flow_maker is None:
            self._flow_maker = import_formatting()
            if self._fitted:
                self._fit()

    def reveal(self, row_id: int) -> bool:
        """Go to what a stored row says; False where it is not among what is shown."""
        origins = self._document.origins
        block = next((index for index, origin in enumerate(origins) if origin.row_id == row_id), None)
        if block is None:
            return False
        self._page.go(Anchor(block))
        self._show()
        return True

    # Moving

    def scroll_lines(self, lines: int) -> None:
        """Move by so many lines, up when negative."""
        self._page.scroll(lines)
        self._show()

    def action_page_up(self) -> None:
        self.scroll_lines(-self._page_step)

    def action_page_down(self) -> None:
        self.scroll_lines(self._page_step)

    def action_scroll_home(self) -> None:
        self._page.jump(0)
        self._show()

    def action_scroll_end(self) -> None:
        self.follow()

    def action_scroll_up(self) -> None:
        self.scroll_lines(-1)

    def action_scroll_down(self) -> None:
        self.scroll_lines(1)

    @property
    def _page_step(self) -> int:
        return max(1, self._fitted.height - 2)

    def on_scroll_to(self, event: ScrollTo) -> None:
        event.prevent_default().stop()
        if event.y is not None:
            self._page.jump(round(event.y))
            self._show()

    def on_scroll_up(self, event: ScrollUp) -> None:
        event.prevent_default().stop()
        self.action_page_up()

    def on_scroll_down(self, event: ScrollDown) -> None:
        event.prevent_default().stop()
        self.action_page_down()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.prevent_default().stop()
        self.scroll_lines(-WHEEL_LINES)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.prevent_default().stop()
        self.scroll_lines(WHEEL_LINES)

    # Folding

    def on_click(self, event: events.Click) -> None:
        block = self._foldable_at(event.y)
        if block is None and self._has_news and event.y == self._fitted.height - 1:
            self.follow()
        elif block is not None:
            self._toggle(block)

    def unfold_all(self, *, is_unfolded: bool) -> None:
        """Show all of each call and thought, or the few lines that stand for them."""
        foldable = (index for index, block in enumerate(self.blocks) if may_fold(block))
        self._layout.expanded ^= {index for index in foldable if self._layout.is_unfolded(index) != is_unfolded}
        if self._fitted:
            self._fit()

    def action_toggle_card(self) -> None:
        """Expand or fold the block under the mouse, else the last tool call."""
        block = self._foldable_at(self._screen_app.mouse_position.y - self.region.y)
        if block is None:
            blocks = self._document.blocks
            block = next((i for i in range(len(blocks) - 1, -1, -1) if isinstance(blocks[i], ToolCard)), None)
        if block is not None:
            self._toggle(block)

    def _foldable_at(self, row: int) -> int | None:
        if not 0 <= row < len(self._places):
            return None
        block = self._places[row].block
        return block if may_fold(self._document.blocks[block]) else None

    def _toggle(self, block: int) -> None:
        self._layout.toggle(block)
        self._page.rest()
        self._show()

    # Drawing

    @property
    def _screen_app(self) -> App[object]:
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - textual leaves the app's result type open

    def on_mount(self) -> None:
        self._screen_app.theme_changed_signal.subscribe(self, self._restyle)
        self.set_timer(WARM_AFTER_S, self._warm)

    def on_unmount(self) -> None:
        """The signal holds on to who listens to it, with all that was drawn for this conversation."""
        self._screen_app.theme_changed_signal.unsubscribe(self)

    def _warm(self) -> None:
        self.run_worker(self._import_formatting)

    async def _import_formatting(self) -> None:
        await asyncio.to_thread(import_formatting)
        self.formatting_ready()

    def _restyle(self, _theme: Theme) -> None:
        self._fit()

    def _fit(self) -> None:
        """Lay out for the size and the theme as they are now; the top row keeps its place."""
        self._fitted = self.scrollable_content_region.size
        palette = palette_of(self._screen_app.theme_variables, is_monochrome=self._screen_app.no_color)
        self._sheet = Sheet(max(1, self._fitted.width), palette, self._reasoning)
        expanded, raw = self._layout.expanded, self._layout.raw
        self._layout = Layout(self._document.blocks, self._sheet, self._flow_maker, expanded, raw)
        self._page.resize(self._layout, self._fitted.height)
        self._show()

    def _stretch(self, size: Size) -> None:
        """Show more rows or fewer; what is laid out stays."""
        self._fitted = size
        self._page.resize(self._layout, size.height)
        self._show()

    def _show(self) -> None:
        """Bring the rows up to date and ask for a repaint of those that changed."""
        height = self._fitted.height
        if not height:
            return
        visible = self._page.visible()
        blank = self._sheet.strip([])
        rows = [strip for _, strip in visible] or draw_intro(self._intro, self._sheet, height)
        rows = [*rows[:height], *[blank] * (height - len(rows))]
        self._places = [place for place, _ in visible]
        rows = self._dressed(rows)
        self._has_news = self._has_news and not self._page.is_following
        if self._has_news:
            rows[-1] = self._with_mark(rows[-1])
        changed = [y for y, row in enumerate(rows) if y >= len(self._rows) or row is not self._rows[y]]
        self._rows = rows
        if changed:
            self.refresh(*(Region(0, y, self._sheet.cells, 1) for y in changed))
        self._move_scrollbar()

    def _dressed(self, rows: list[Strip]) -> list[Strip]:
        """The rows with what is laid over them: here nothing."""
        return rows

    def _with_mark(self, row: Strip) -> Strip:
        """The last row with a mark at its right end: something came that is not on the page."""
        palette = self._sheet.palette
        cells = max(0, self._sheet.cells - cell_len(NEW_BELOW) - 1)
        mark = [Segment(NEW_BELOW, palette.prompt_bar), Segment(" ", palette.text)]
        return Strip([*row.crop(0, cells), *mark]).crop(0, self._sheet.cells)

    def _move_scrollbar(self) -> None:
        total = self._layout.total
        self.set_reactive(TranscriptView.virtual_size, Size(self._sheet.cells, total))
        bar = self.vertical_scrollbar
        bar.window_size = self._fitted.height
        bar.window_virtual_size = total
        bar.position = self._page.top

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are. The first paint of a size comes before its Resize event, so this is where it is met."""
        size = self.scrollable_content_region.size
        if size != self._fitted:
            self._fit() if size.width != self._fitted.width else self._stretch(size)
        rows = self._rows[crop.y : crop.bottom]
        if crop.x == 0 and crop.right >= self._sheet.cells:
            return rows
        return [row.crop(crop.x, crop.right) for row in rows]


def import_formatting() -> FlowMaker:
    """Import what markdown and highlighting need, and use it once; slow, so best done in a thread."""
    from tui.transcript.flow import Flow

    sheet = Sheet(80, palette_of({}))
    Flow(80, sheet.palette, sheet.strip).feed("Warm *up*.\n\n```python\nx = 1\n```\n", is_open=False)
    return Flow
