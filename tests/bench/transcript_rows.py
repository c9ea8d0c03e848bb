"""What a frame of the transcript costs, in process: an answer that grows, and moving through a long conversation.

CPU of the drawing thread, without the compositor's share (which does not depend on what is drawn).
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from functools import cached_property

from goals import Goal
from machine import Machine
from model_server import markdown
from textual.theme import BUILTIN_THEMES

from session.models import Finish, Message, Role
from tui.transcript.blocks import Answer, Block
from tui.transcript.document import Document
from tui.transcript.drawing import Sheet
from tui.transcript.layout import Layout
from tui.transcript.page import Page
from tui.transcript.palette import palette_of
from tui.transcript.view import import_formatting

MESSAGES = 10_000
RUNS = 3
STEP_CHARS = 100  # a frame at 20 fps of 2,000 characters a second
ROWS = 36
CELLS = 94

CODE = "".join(f'def f{n}(x: int) -> str:\n    """Say it."""\n    return f"{{x}} {n}"  # why\n\n' for n in range(125))
WORDS = "with some `code` and more words, so that it takes more than a line on most screens there are"
STREAMED = {
    "a 500-line fence": f"```python\n{CODE}```\n",
    "a 400-item list": "".join(f"- item **{n}** {WORDS}\n" for n in range(400)),
    "a 300-row table": "| n | name | what |\n|--:|---|---|\n" + f"| 1 | row `x` | {WORDS} |\n" * 300,
    "a table of 20 columns": "|"
    + " head |" * 20
    + "\n"
    + "|---" * 20
    + "|\n"
    + ("| a long cell here " * 20 + "|\n") * 100,
    "a 400-item list in an item": "- all:\n" + "".join(f"  - item **{n}** {WORDS}\n" for n in range(400)),
    "a 500-line fence in a quote": "> ```python\n" + "".join(f"> {line}\n" for line in CODE.split("\n")),
    "a paragraph of 40,000 characters": "many words in one line and *some* `code` " * 1_000,
}


class TranscriptBench:
    """Every scenario, run when a row first asks for it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._make_flow = import_formatting()
        gc.collect()
        gc.freeze()  # as the app does behind its first frame
        self._palette = palette_of(BUILTIN_THEMES["textual-dark"].to_color_system().generate())

    def longest_frame_ms(self, source: str) -> float:
        """The longest frame of the quickest run: what the machine does besides is no part of it."""
        self._machine.sample()
        return min(max(self._frames(source)) for _ in range(RUNS))

    def _frames(self, source: str) -> list[float]:
        blocks: list[Block] = [Answer("", is_open=True)]
        layout, spent = self._layout(blocks), list[float]()
        for end in range(STEP_CHARS, len(source) + STEP_CHARS, STEP_CHARS):
            blocks[0] = Answer(source[:end], is_open=end < len(source))
            spent.append(_cpu_ms(lambda: (layout.sync(0), layout.strips(0))))
        return spent

    def _layout(self, blocks: list[Block], cells: int = CELLS) -> Layout:
        return Layout(blocks, Sheet(cells, self._palette), self._make_flow)

    @cached_property
    def rows(self) -> list[Message]:
        text = markdown(800)
        return [
            Message("s", Role.ASSISTANT, f"{text}\n\nanswer {n}", 0.0, id=n + 1, finish=Finish.STOP)
            if n % 2
            else Message("s", Role.USER, f"question {n}", 0.0, id=n + 1)
            for n in range(MESSAGES)
        ]

    def _opened(self) -> tuple[list[Block], Page]:
        document = Document()
        document.reset(self.rows)
        page = Page(self._layout(document.blocks), ROWS)
        page.visible()
        return document.blocks, page

    @cached_property
    def opening_ms(self) -> float:
        assert self.rows
        return min(_cpu_ms(self._opened) for _ in range(RUNS))

    @cached_property
    def steps_ms(self) -> list[float]:
        """Page steps from the end upwards, then wheel steps back down, through text that is not drawn yet."""
        _, page = self._opened()
        moves = [-(ROWS - 2)] * 100 + [3] * 300
        return sorted(_cpu_ms(lambda move=move: (page.scroll(move), page.visible())) for move in moves)

    @cached_property
    def resize_ms(self) -> float:
        blocks, page = self._opened()
        page.scroll(-5_000)
        widths = (80, CELLS, 80, CELLS)
        return max(_cpu_ms(lambda w=w: (page.resize(self._layout(blocks, w), ROWS), page.visible())) for w in widths)

    @cached_property
    def bytes_per_turn(self) -> float:
        """What the transcript holds beside the rows, once all of it has been on screen."""
        assert self.rows
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        _, page = self._opened()
        for _ in range(MESSAGES // 10):
            page.scroll(-10 * (ROWS - 2))
            page.visible()
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        return held / (MESSAGES / 2)


def _cpu_ms(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1_000


def _streamed(name: str, source: str) -> Goal[TranscriptBench]:
    row = f"transcript frame, {name}: it streams, {STEP_CHARS} characters a frame; the longest frame of the best of {RUNS} runs"
    return Goal(row, "ms", 16, lambda bench: bench.longest_frame_ms(source), issue="screen")


GOALS: list[Goal[TranscriptBench]] = [
    *(_streamed(name, source) for name, source in STREAMED.items()),
    Goal(
        f"transcript opening: {MESSAGES:,} rows to the last page, formatted; the best of {RUNS}",
        "ms",
        150,
        lambda bench: bench.opening_ms,
        issue="screen",
    ),
    Goal(
        f"transcript moving: 100 page steps up and 300 wheel steps down among {MESSAGES:,} messages; p95",
        "ms",
        16,
        lambda bench: bench.steps_ms[int(0.95 * len(bench.steps_ms))],
        issue="screen",
    ),
    Goal(
        f"transcript resize: another width in the middle of {MESSAGES:,} messages; the longest of 4",
        "ms",
        80,
        lambda bench: bench.resize_ms,
        issue="screen",
    ),
    Goal(
        f"transcript memory: held for a turn beside its rows, when {MESSAGES:,} messages have been looked through",
        "bytes",
        10_000,
        lambda bench: bench.bytes_per_turn,
        issue="screen",
    ),
]
