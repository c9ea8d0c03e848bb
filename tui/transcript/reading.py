"""The transcript that a person reads in: it takes the focus, keys and the mouse, and is marked where they are.

What keeps track of that (`reader.py`) is made when it is first needed: a start need not pay for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message as Posted
from textual.strip import Strip
from textual.theme import Theme

from agent.events import TurnEvent
from session.models import Message
from tui.app_of import app_of
from tui.bound_keys import run_bound
from tui.keys import READING_KEYS
from tui.transcript.blocks import Prompt, ToolCard
from tui.transcript.marks import Marks, marks_of
from tui.transcript.overlay import Overlay, prompt_above
from tui.transcript.source import may_fold, source_of
from tui.transcript.view import TranscriptView

if TYPE_CHECKING:
    from tui.transcript.drag import Drag
    from tui.transcript.reader import Reader
    from tui.transcript.selection import Place


PAUSE_S = 0.08  # words are looked for when nothing was typed for so long


class ReadingView(TranscriptView, can_focus=True, inherit_bindings=False):
    """A transcript with a caret in it while it has the focus. A click never takes the focus from the draft."""

    FOCUS_ON_CLICK = False
    BINDINGS = READING_KEYS

    class Left(Posted):
        """The person is done reading."""

    class OutlineAsked(Posted):
        """The person wants to see the prompts."""

    class FindAsked(Posted):
        """The person wants to find words."""

    class Marked(Posted):
        """What is selected or found changed, or which of it was gone to."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._made: Reader | None = None
        self._drag: Drag | None = None
        self._shows_times = False
        self._is_stale = False  # something was said since the words were looked for
        self._marks: Marks | None = None
        self.words = ""  # what is looked for

    @property
    def reader(self) -> Reader:
        if self._made is None:
            from tui.transcript.reader import Reader

            self._made = Reader(self)
        return self._made

    # --- the transcript changes under the reader

    def open(self, rows: Sequence[Message], intro: str = "", seq: int = -1) -> None:
        self._made = None
        self.words = ""
        self._end_drag()
        super().open(rows, intro, seq)

    def apply(self, happened: Sequence[TurnEvent]) -> None:
        self._is_stale = True
        super().apply(happened)

    def scroll_lines(self, lines: int) -> None:
        super().scroll_lines(lines)
        if self.has_focus:
            self._read(lambda reader: reader.keep_in_view())

    def _fit(self) -> None:
        if self._made is not None and self.scrollable_content_region.width != self._fitted.width:
            self._made.clear()  # its lines are other ones now
        super()._fit()

    def _restyle(self, _theme: Theme) -> None:
        self._marks = None
        super()._restyle(_theme)

    def _dressed(self, rows: list[Strip]) -> list[Strip]:
        if not self.blocks:
            return rows
        overlay = Overlay(self._document, self._sheet, self._styles())
        before = self._rows
        if self._shows_times:
            rows = overlay.with_times(rows, self._places)
        if self._made is not None and (self.has_focus or self._made.is_marking):
            rows = overlay.with_reading(rows, self._places, self._made, has_caret=self.has_focus)
        if not self.is_following:
            rows = overlay.with_prompt(rows, self._places)
        # What looks as before is the same object, and need not be written again.
        return [old if old == new else new for old, new in zip(before, rows, strict=False)] + rows[len(before) :]

    def _styles(self) -> Marks:
        if self._marks is None:
            app = app_of(self)
            self._marks = marks_of(app.theme_variables, is_monochrome=app.no_color)
        return self._marks

    # --- keys

    async def on_key(self, event: events.Key) -> None:
        """Keys that are bound here, before the screen takes letters for the draft."""
        await run_bound(self, event)

    def on_focus(self) -> None:
        self.reader.arrive()
        self._show()

    def on_blur(self) -> None:
        self._show()

    def _read(self, act: Callable[[Reader], object]) -> None:
        if self.blocks:
            act(self.reader)
            self._show()
            self.post_message(self.Marked())

    def action_leave(self) -> None:
        """One thing after the other: the selection, what was found, the reading."""
        if self.clear_selection():
            return
        if self.words:
            self.find("")
        else:
            self.post_message(self.Left())

    def action_move(self, lines: int) -> None:
        self._read(lambda reader: reader.move(lines))

    def action_extend(self, lines: int) -> None:
        self._read(lambda reader: reader.move(lines, extends=True))

    def action_move_cells(self, cells: int) -> None:
        self._read(lambda reader: reader.move_cells(cells))

    def action_extend_cells(self, cells: int) -> None:
        self._read(lambda reader: reader.move_cells(cells, extends=True))

    def action_edge(self, edge: int) -> None:
        self._read(lambda reader: reader.to_edge(edge))

    def action_turn(self, step: int) -> None:
        """Go to the prompt above or below; behind the last one is the end."""
        if not self.blocks:
            return
        block = self.reader.turn(step)
        if block is not None:
            self.go_to(block)
        elif step > 0:
            self._read(lambda reader: reader.to_edge(1))

    @property
    def current_prompt(self) -> int | None:
        """The block of the prompt whose turn is on top; of the last one while the end is followed."""
        if not self._places:
            return None
        block = self._places[-1 if self.is_following else 0].block
        return next((index for index in range(block, -1, -1) if isinstance(self.blocks[index], Prompt)), None)

    def go_to(self, block: int) -> None:
        self._read(lambda reader: reader.go_to(block))

    def action_unfold(self) -> None:
        if self.blocks and may_fold(self.blocks[self.reader.caret.block]):
            self._change(self.laid.toggle)

    def action_raw(self) -> None:
        """A tool call has no other source than what it shows unfolded, and that may be long."""
        if self.blocks and not isinstance(self.blocks[self.reader.caret.block], ToolCard):
            self._change(self.laid.toggle_raw)

    def _change(self, change: Callable[[int], None]) -> None:
        """Draw the block of the caret in another way. The caret stays in it, and on the page."""
        self.reader.clear()
        change(self.reader.caret.block)
        self.page.rest()
        self._read(lambda reader: reader.move(0))

    def action_times(self) -> None:
        self._shows_times = not self._shows_times
        self._show()

    def action_outline(self) -> None:
        self.post_message(self.OutlineAsked())

    # --- selecting and copying

    def action_select(self) -> None:
        self._read(lambda reader: reader.toggle_selecting())

    def action_copy(self) -> None:
        if not self.copy_selection() and self.blocks:
            app_of(self).copy_to_clipboard(source_of(self.blocks[self.reader.caret.block]))

    def copy_selection(self) -> bool:
        """Copy what is selected and select nothing any more; returns whether something was."""
        text = self._made.selected if self._made is not None else ""
        if text:
            app_of(self).copy_to_clipboard(text)
        return self.clear_selection()

    def clear_selection(self) -> bool:
        had = self._made is not None and self._made.clear()
        if had:
            self._show()
            self.post_message(self.Marked())
        return had

    def draw_selection(self, anchor: Place, caret: Place) -> None:
        self.reader.select(anchor, caret)
        self._show()

    def place_at(self, x: int, y: int) -> Place | None:
        """The place in the transcript under a cell of the view, the nearest where there is nothing."""
        from tui.transcript.selection import Place

        if not self._places:
            return None
        row = max(0, min(y, len(self._places) - 1))
        cell = x if 0 <= y < len(self._places) else (0 if y < 0 else self._sheet.cells - 1)
        place = self._places[row]
        return Place(place.block, place.line, max(0, min(cell, self._sheet.cells - 1)))

    def edge(self, y: int) -> int:
        """How far a row is beyond the page: negative above it, 0 on it."""
        last = self._fitted.height - 1
        return y - 1 if y <= 0 else max(0, y - last + 1)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        anchor = self.place_at(event.x, event.y)
        self._end_drag()
        if event.button != 1 or anchor is None or not self.blocks:
            return
        from tui.transcript.drag import TICK_S, Drag

        self.clear_selection()
        timer = self.set_interval(TICK_S, self._tick, pause=True)
        self._drag = Drag(self, anchor, timer)
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag is None:
            return
        if event.button:
            self._drag.move(event.x, event.y)
        else:
            self._end_drag()  # the button was let go where nobody saw it

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is not None and self._drag.has_moved:
            event.prevent_default()
        self._end_drag()

    def _tick(self) -> None:
        if self._drag is not None:
            self._drag.tick()

    def _end_drag(self) -> None:
        if self._drag is not None:
            self._drag.stop()
            self._drag = None
            self.release_mouse()

    def on_hide(self) -> None:
        self._end_drag()

    def on_click(self, event: events.Click) -> None:
        """One click unfolds, two select a word, three a line. A drag that ends here is none."""
        event.prevent_default()
        event.stop()
        if self._made is not None and self._made.selection is not None and event.chain == 1:
            return
        place = self.place_at(event.x, event.y)
        if event.chain > 1 and place is not None and event.y < len(self._places):
            self._select_around(place, event)
        elif event.y == 0 and not self.is_following and (above := self._prompt_above()) is not None:
            self.go_to(above)
        else:
            super().on_click(event)

    def _select_around(self, place: Place, event: events.Click) -> None:
        if event.chain == 2 and (block := self._foldable_at(event.y)) is not None:
            self._toggle(block)  # the first click of the two had done so
            place = self.place_at(event.x, event.y) or place
        select = self.reader.select_word if event.chain == 2 else self.reader.select_line
        select(place)
        self._show()

    def _prompt_above(self) -> int | None:
        return prompt_above(self.blocks, self._places[0]) if self._places else None

    # --- finding

    def action_find(self) -> None:
        self.post_message(self.FindAsked())

    def action_next_hit(self, step: int) -> None:
        if not self.words:
            self.action_find()
        elif self._is_stale:
            self.find(self.words, step)
        else:
            self._go_on(step)

    def _go_on(self, step: int) -> None:
        self._read(lambda reader: reader.next_hit(step))

    def find(self, words: str, step: int = 0) -> None:
        """Look for words everywhere in the conversation and go to the nearest, or on from where one is."""
        self.words = words
        self.run_worker(self._find(words, step), group="find", exclusive=True)

    def look_for(self, words: str) -> None:
        """Words that are being typed: look for them when nothing more comes for a moment."""
        self.words = words
        self.run_worker(self._find(words, 0, PAUSE_S), group="find", exclusive=True)

    async def _find(self, words: str, step: int, pause_s: float = 0.0) -> None:
        from tui.transcript.find import find_hits

        await asyncio.sleep(pause_s)
        self._is_stale = False
        blocks = list(self.blocks)
        hits = await asyncio.to_thread(find_hits, blocks, words) if words else []
        self._read(lambda reader: reader.take_hits(hits, step))
        self.post_message(self.Marked())
