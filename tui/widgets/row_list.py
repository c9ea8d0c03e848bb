"""A list of rows that draws only those in sight: as quick with ten thousand as with ten."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import ClassVar

from msgspec import Struct
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual


class Row(Struct, frozen=True, gc=False):
    """One row of `height` lines. A heading has no key and can't be marked."""

    key: str
    height: int
    heading: str = ""


class RowList(ScrollView):
    """One row is marked, and moves with the keys. What a row looks like is for the list of a kind to say."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--marked"}
    DEFAULT_CSS = """
    RowList { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    RowList > .row-list--marked { background: $block-cursor-background; color: $block-cursor-foreground; }
    """

    class Picked(Message):
        """A row was clicked, or Enter was pressed on it."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._tops: list[int] = []
        self._index: dict[str, int] = {}
        self._drawn: dict[int, list[Strip]] = {}
        self._marked = ""

    # --- for the list of a kind

    def draw(self, row: Row, width: int) -> Content:
        """What a row shows, in at most its height."""
        raise NotImplementedError

    @property
    def shows_mark(self) -> bool:
        """Whether the marked row is to be seen as such."""
        return self.has_focus

    # --- what stands in it

    @property
    def keys(self) -> list[str]:
        """The keys of the rows that can be marked, in their order."""
        return list(self._index)

    @property
    def marked(self) -> str:
        """The key of the marked row, "" where there is none."""
        return self._marked

    @property
    def marked_top(self) -> int:
        """The first line of the marked row, 0 where none is marked."""
        return self._tops[self._index[self._marked]] if self._marked in self._index else 0

    def put_rows(self, rows: Sequence[Row], changed: Collection[str] | None = None) -> None:
        """Show these. The mark stays on its row, else it goes to the first.

        `changed` are the keys of those that look different, where that is known: the same rows in the same places are
        not drawn again then.
        """
        if changed is not None and rows == self._rows:
            for key in changed:
                self.redraw(key)
            return
        self._rows = rows
        self._tops = list(accumulate((row.height for row in rows), initial=0))
        self._index = {row.key: place for place, row in enumerate(rows) if row.key}
        self._drawn = {}
        self.virtual_size = Size(self.scrollable_content_region.width, self._tops[-1])
        if self._marked not in self._index:
            self.mark(next(iter(self._index), ""))
        self.refresh()

    def redraw(self, key: str) -> None:
        """A row looks different from now on."""
        if key in self._index:
            self._repaint(self._index[key])

    # --- the mark

    def mark(self, key: str) -> None:
        before, self._marked = self._marked, key if key in self._index else ""
        for changed in {before, self._marked} & self._index.keys():
            self._repaint(self._index[changed])
        self._bring_into_sight()

    def move(self, step: int) -> None:
        """Mark the row so many below, or above when negative; the ends are where it stops."""
        keys = self.keys
        if keys:
            at = keys.index(self._marked) if self._marked in self._index else 0
            self.mark(keys[min(max(at + step, 0), len(keys) - 1)])

    def move_page(self, pages: int) -> None:
        """Mark what stands a page further."""
        if self._marked not in self._index:
            return
        wanted = self._tops[self._index[self._marked]] + pages * max(1, self.size.height - 1)
        place = min(max(bisect_right(self._tops, wanted) - 1, 0), len(self._rows) - 1)
        step = 1 if pages > 0 else -1
        while 0 <= place < len(self._rows) and not self._rows[place].key:
            place += step
        edge = -1 if pages > 0 else 0
        self.mark(self._rows[place].key if 0 <= place < len(self._rows) else self.keys[edge])

    def _bring_into_sight(self) -> None:
        if self._marked not in self._index:
            return
        place = self._index[self._marked]
        top = 0 if self._marked == next(iter(self._index)) else self._tops[place]  # with the first row its heading
        region = Region(0, top, max(1, self.size.width), self._tops[place + 1] - top)
        self.scroll_to_region(region, animate=False, force=True)

    # --- drawing

    def _repaint(self, place: int) -> None:
        self._drawn.pop(place, None)
        self.refresh(Region(0, self._tops[place] - self.scroll_offset.y, self.size.width, self._rows[place].height))

    def render_line(self, y: int) -> Strip:
        width, at = self.scrollable_content_region.width, self.scroll_offset.y + y
        place = bisect_right(self._tops, at) - 1
        if not 0 <= place < len(self._rows):
            return Strip.blank(width, self.rich_style)
        return self._strips(place, width)[at - self._tops[place]]

    def _strips(self, place: int, width: int) -> list[Strip]:
        strips = self._drawn.get(place)
        if strips is None or strips[0].cell_length != width:
            strips = self._drawn[place] = self._draw(self._rows[place], width)
        return strips

    def _draw(self, row: Row, width: int) -> list[Strip]:
        is_marked = bool(row.key) and row.key == self._marked and self.shows_mark
        style = self.get_visual_style("row-list--marked") if is_marked else self.visual_style
        drawn = Visual.to_strips(self, self.draw(row, width), width, row.height, style, apply_selection=False)
        blank = Strip.blank(width, self.rich_style)
        padded = [strip.adjust_cell_length(width, style.rich_style) for strip in drawn[: row.height]]
        return [*padded, *[blank] * (row.height - len(padded))]

    def on_resize(self) -> None:
        self._bring_into_sight()

    # --- what a person does

    def on_click(self, event: events.Click) -> None:
        place = bisect_right(self._tops, self.scroll_offset.y + event.y) - 1
        if 0 <= place < len(self._rows) and (key := self._rows[place].key):
            self.mark(key)
            self.post_message(self.Picked(key))

    def on_focus(self) -> None:
        self.redraw(self._marked)

    def on_blur(self) -> None:
        self.redraw(self._marked)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn = {}

    def action_move(self, step: int) -> None:
        self.move(step)

    def action_page(self, pages: int) -> None:
        self.move_page(pages)

    def action_edge(self, side: int) -> None:
        if keys := self.keys:
            self.mark(keys[0 if side < 0 else -1])

    def action_pick(self) -> None:
        if self._marked:
            self.post_message(self.Picked(self._marked))
