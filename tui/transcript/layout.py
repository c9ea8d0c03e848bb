"""Blocks to strips, for one width and theme. Only what is asked for is drawn; the height of the rest is estimated."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol

from textual.strip import Strip

from agent.config.display_settings import ReasoningShown
from tui.transcript.blocks import Activity, Answer, Block, NoticeBlock, Prompt, Reasoning, Refusal, Summary, ToolCard
from tui.transcript.card_body import HEAD_LINES, TAIL_LINES
from tui.transcript.cards import draw_card
from tui.transcript.drawing import (
    FOLDED_PROMPT_LINES,
    REASONING_LINES,
    Sheet,
    draw_activity,
    draw_ending,
    draw_notice,
    draw_prompt,
    draw_reasoning,
    draw_refusal,
    draw_source,
    draw_summary,
)
from tui.transcript.palette import Palette
from tui.transcript.source import source_of
from tui.transcript.wrap import Line

CACHED_LINES = 3_000


class AnswerFlow(Protocol):
    """Draws one answer as it grows: each source continues the one before."""

    def feed(self, source: str, *, is_open: bool) -> list[Strip]: ...


FlowMaker = Callable[[int, Palette, Callable[[Line], Strip]], AnswerFlow]
"""Makes a flow for lines of so many cells. Absent until markdown is imported."""


class Layout:
    """Strips and heights of a list of blocks. The list changes in place; `sync` says from where on."""

    def __init__(
        self,
        blocks: Sequence[Block],
        sheet: Sheet,
        flow_maker: FlowMaker | None = None,
        expanded: set[int] | None = None,
        raw: set[int] | None = None,
    ) -> None:
        self._blocks = blocks
        self._sheet = sheet
        self._make_flow = flow_maker
        self._strips: OrderedDict[int, list[Strip]] = OrderedDict()
        self._cached_lines = 0
        self._drawn: list[Block | None] = []  # the block a height was measured from, None for an estimate
        self._heights: list[int] = []
        self._starts: list[int] = [0]
        self._starts_valid = 0  # starts up to this index are right
        self._flow: tuple[str, AnswerFlow] | None = None  # the open answer's, and what it has been fed
        self.expanded = expanded or set[int]()  # blocks that are folded otherwise than by themselves
        self.raw = raw or set[int]()  # blocks that are shown as their source
        self.sync(0)

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def sheet(self) -> Sheet:
        return self._sheet

    @property
    def total(self) -> int:
        """Lines of the whole transcript, as far as known."""
        return self.start(len(self._heights))

    def start(self, index: int) -> int:
        """The line at which a block begins."""
        if index > self._starts_valid:
            valid = self._starts_valid
            del self._starts[valid + 1 :]
            more = accumulate(self._heights[valid:], initial=self._starts[valid])
            self._starts[valid:] = more
            self._starts_valid = len(self._heights)
        return self._starts[index]

    def height(self, index: int) -> int:
        return self._heights[index]

    def sync(self, first: int) -> None:
        """The blocks from `first` on may have changed, come or gone."""
        for index in range(first, len(self._heights)):
            if index >= len(self._blocks) or self._drawn[index] is not self._blocks[index]:
                self._forget(index)
        size = len(self._blocks)
        del self._drawn[size:], self._heights[size:]
        for index in range(first, size):
            if index == len(self._heights):
                self._heights.append(self._estimate(self._blocks[index]))
                self._drawn.append(None)
            elif self._drawn[index] is None:
                self._heights[index] = max(self._heights[index], self._estimate(self._blocks[index]))
        self._starts_valid = min(self._starts_valid, first)

    def strips(self, index: int) -> list[Strip]:
        """The lines of a block, the empty one above it included. Its height is exact from now on."""
        strips = self._strips.get(index)
        if strips is not None and self._drawn[index] is self._blocks[index]:
            self._strips.move_to_end(index)
            return strips
        self._forget(index)
        block = self._blocks[index]
        strips = [*self._gap(index), *self._draw(index, block)]
        self._strips[index] = strips
        self._cached_lines += len(strips)
        self._drawn[index] = block
        if self._heights[index] != len(strips):
            self._heights[index] = len(strips)
            self._starts_valid = min(self._starts_valid, index)
        self._evict()
        return strips

    def toggle(self, index: int) -> None:
        """Expand a folded block, or fold it again."""
        self.expanded ^= {index}
        self._forget(index)

    def is_unfolded(self, index: int) -> bool:
        """Whether all of a block is shown that may be shown in part."""
        is_by_itself = isinstance(self._blocks[index], Reasoning) and self._sheet.reasoning is ReasoningShown.OPEN
        return is_by_itself != (index in self.expanded)

    def toggle_raw(self, index: int) -> None:
        """Show a block as its source, or as what it means again."""
        self.raw ^= {index}
        self._forget(index)

    def _forget(self, index: int) -> None:
        self._cached_lines -= len(self._strips.pop(index, ()))
        self._drawn[index] = None

    def _evict(self) -> None:
        while self._cached_lines > CACHED_LINES and len(self._strips) > 1:
            _, strips = self._strips.popitem(last=False)
            self._cached_lines -= len(strips)

    def _gap(self, index: int) -> list[Strip]:
        is_in_row = (
            index > 0 and isinstance(self._blocks[index], ToolCard) and isinstance(self._blocks[index - 1], ToolCard)
        )
        return [] if is_in_row else [self._sheet.strip([])]

    def _draw(self, index: int, block: Block) -> list[Strip]:
        is_expanded = self.is_unfolded(index)
        if index in self.raw:
            return draw_source(source_of(block), self._sheet)
        match block:
            case Prompt():
                return draw_prompt(block, self._sheet, is_expanded)
            case Reasoning():
                return draw_reasoning(block, self._sheet, is_expanded)
            case Answer():
                return self._draw_answer(block)
            case Refusal():
                return draw_refusal(block, self._sheet)
            case ToolCard():
                return draw_card(block, self._sheet, is_expanded)
            case Summary():
                return draw_summary(block, self._sheet, is_expanded)
            case NoticeBlock():
                return draw_notice(block, self._sheet)
            case Activity():
                return draw_activity(block, self._sheet)

    def _draw_answer(self, block: Answer) -> list[Strip]:
        ending = draw_ending(block.finish, self._sheet)
        if self._make_flow is None:
            return draw_source(block.source, self._sheet) + ending
        flow = self._flow_for(block.source, self._make_flow)
        strips = flow.feed(block.source, is_open=block.is_open)
        self._flow = (block.source, flow) if block.is_open else None
        if ending and strips:
            ending.insert(0, self._sheet.strip([]))
        return strips + ending

    def _flow_for(self, source: str, make: FlowMaker) -> AnswerFlow:
        if self._flow and source.startswith(self._flow[0]):
            return self._flow[1]
        return make(self._sheet.width, self._sheet.palette, self._sheet.strip)

    def _estimate(self, block: Block) -> int:
        match block:
            case Answer():
                return self._lines_of(block.source) + 1
            case Prompt():
                return min(self._lines_of(block.text), FOLDED_PROMPT_LINES) + 1
            case Reasoning() | Summary():
                return REASONING_LINES + 2
            case ToolCard():
                return 1 + min(block.output.count("\n") + bool(block.output), HEAD_LINES + TAIL_LINES + 1)
            case Refusal() | NoticeBlock() | Activity():
                return self._lines_of(block.text) + 1

    def _lines_of(self, text: str) -> int:
        """A guess at the lines a text takes: words leave some cells free at the end of each."""
        width = max(10, self._sheet.measure - 10)
        return max(1, round(len(text) / width + 0.85 * text.count("\n")))
