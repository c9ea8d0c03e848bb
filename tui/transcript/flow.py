"""An answer that grows: what can't change any more is drawn once, only the open tail is drawn again.

All but the last top-level block of the complete lines is settled. Inside that last block, finished groups of a fence,
items of a list and rows of a table are settled too, so that no block, however long, makes a frame slow. One whole answer
goes the same way, in one feed: a streamed answer and a reopened one look equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from textual.strip import Strip

from agent.literal import visible
from tui.transcript.cuts import LONG_CHARS, cut_of, long_part
from tui.transcript.markdown import WHOLE, Continuation, Node, Renderer, parse
from tui.transcript.palette import Palette
from tui.transcript.wrap import Line, wrap

ROUGH_CHARS = 8_000
"""A longer tail that can't be cut is drawn again only when it has grown by a quarter; until then its end is plain."""


class Flow:
    """Draws one answer. `frame` makes a strip of a line that is set `width` cells wide."""

    def __init__(self, width: int, palette: Palette, frame: Callable[[Line], Strip]) -> None:
        self._width = width
        self._palette = palette
        self._frame = frame
        self._settled: list[Strip] = []
        self._open: list[Strip] = []
        self._taken = 0  # characters of the source whose lines are complete
        self._prefix = ""  # the line(s) that make the tail go on as the block it belongs to
        self._tail = ""  # complete lines that are not settled, literal
        self._going_on = WHOLE
        self._examined = 0  # characters of the tail when it was last cut
        self._drawn = 0  # characters of the tail when it was last drawn in full
        self._formatted = 0  # lines that drawing made
        self.drawn_lines = 0  # lines set so far, for tests of bounded work

    def feed(self, source: str, *, is_open: bool) -> list[Strip]:
        """The lines of the answer so far. Each source continues the one before."""
        for lines in self._complete_lines(source):
            self._tail += _literal(lines)
            if _has_grown(len(self._tail), self._examined):
                self._settle()
        if not is_open:
            self._settle()
        self._draw(self._tail + _literal(source[self._taken :]), is_open=is_open)
        return self._settled + self._open

    @property
    def settled_lines(self) -> int:
        """How many of the lines stay as they are, whatever is added."""
        return len(self._settled)

    @property
    def is_formatted(self) -> bool:
        """Whether no part of the tail waits in plain text."""
        return self._formatted == len(self._open)

    def _complete_lines(self, source: str) -> Iterator[str]:
        """The lines that have become complete, some at a time. One that is too long ends at a space before its end."""
        lines, size = list[str](), 0
        while True:
            start = self._taken
            end = source.find("\n", start, start + LONG_CHARS) + 1
            if not end and len(source) - start <= LONG_CHARS:
                break
            self._taken = end or (source.rfind(" ", start, start + LONG_CHARS) + 1) or start + LONG_CHARS
            lines.append(source[start : self._taken] + ("" if end else "\n"))
            size += self._taken - start
            if size >= ROUGH_CHARS:
                yield "".join(lines)
                lines, size = [], 0
        if lines:
            yield "".join(lines)

    def _settle(self) -> None:
        while self._settle_once():
            pass
        self._examined = len(self._tail)

    def _settle_once(self) -> bool:
        """Settle what is finished in the tail; returns whether something was."""
        text = self._prefix + self._tail
        nodes = parse(text)
        if not nodes:
            return False
        renderer = self._renderer(text)
        finished = nodes[:-1]
        number = next((i for i, node in enumerate(finished) if long_part(node, renderer)), len(finished))
        if number == 0:
            return self._split(nodes[0], renderer)
        self._print(nodes[:number], renderer)
        self._cut(renderer.source, nodes[number].lines[0], (), WHOLE)
        return True

    def _split(self, node: Node, renderer: Renderer) -> bool:
        """Settle the finished part of a long block; its tail goes on behind its header."""
        cut = cut_of(node, renderer, self._going_on)
        if cut is None:
            return False
        source = renderer.source
        done = parse("".join(f"{text}\n" for text in source[: cut.line]))
        self._print(done, renderer)
        self._cut(source, cut.line, cut.header, cut.rest)
        return True

    def _print(self, nodes: Sequence[Node], renderer: Renderer) -> None:
        self._settled += self._strips(nodes, renderer)

    def _cut(self, source: Sequence[str], line: int, header: Sequence[str], rest: Continuation) -> None:
        self._prefix = "".join(f"{text}\n" for text in header)
        self._tail = "".join(f"{text}\n" for text in source[line:])
        self._going_on = rest
        self._drawn = 0
        self._open = []

    def _strips(self, nodes: Sequence[Node], renderer: Renderer) -> list[Strip]:
        strips: list[Strip] = []
        for number, node in enumerate(nodes):
            if (self._settled or strips) and (number or self._going_on is WHOLE):
                strips.append(self._frame([]))
            lines = renderer.block(node, WHOLE if number else self._going_on)
            self.drawn_lines += len(lines)
            strips += map(self._frame, lines)
        return strips

    def _draw(self, tail: str, *, is_open: bool) -> None:
        if is_open and self._drawn and not _has_grown(len(tail), self._drawn):
            self._open = self._open[: self._formatted] + self._rough(tail[self._drawn :])
            return
        text = self._prefix + tail
        strips = self._strips(parse(text), self._renderer(text))
        for number, (old, new) in enumerate(zip(self._open, strips, strict=False)):
            if old == new:
                strips[number] = old  # the same object: the screen sees at a glance that the line did not change
        self._open = strips
        self._formatted = len(strips)
        self._drawn = len(tail)

    def _rough(self, text: str) -> list[Strip]:
        return [self._frame(line) for line in wrap([(text, self._palette.text)], self._width)] if text else []

    def _renderer(self, text: str) -> Renderer:
        return Renderer(text.split("\n")[: text.count("\n") + (not text.endswith("\n"))], self._width, self._palette)


def _has_grown(size: int, before: int) -> bool:
    return size < ROUGH_CHARS or size >= before + before // 4


def _literal(text: str) -> str:
    return visible(text.replace("\r\n", "\n"))
