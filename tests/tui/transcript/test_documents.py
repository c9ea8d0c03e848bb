"""Whole documents as they are written: READMEs of what is installed, and made-up ones that hold every construct.

Each streams in random pieces. What is finished stays as it is, and at any point the screen shows what the text so far
would show in one piece.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from importlib.metadata import distributions
from itertools import islice
from pathlib import Path

import pytest
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES

from tui.transcript.drawing import Sheet
from tui.transcript.flow import Flow
from tui.transcript.palette import palette_of

SHEET = Sheet(72, palette_of(BUILTIN_THEMES["textual-dark"].to_color_system().generate()))
PREFIXES = 50
SHORT_CHARS = 2_000  # of a document in the short run
LONG_CHARS = 12_000  # in a soak run


def installed() -> Iterator[str]:
    """Markdown that came with packages, in a settled order; licences are prose, and many are the same."""
    for one in sorted(distributions(), key=lambda one: one.metadata["Name"]):
        if "markdown" in (one.metadata["Description-Content-Type"] or ""):
            yield (one.read_text("METADATA") or "").partition("\n\n")[2]
    import mdit_py_plugins

    packages = Path(mdit_py_plugins.__file__).parent.parent
    for path in sorted(packages.rglob("*.md")):
        if not path.stem.lower().startswith("licen"):
            yield path.read_text("utf-8", errors="replace")


# --- made-up documents

SAMPLES = r"""
    word **bold** *it `code` 日本語 👩🏽‍💻 [a](http://b/c_d) https://x.org/(y)), # - 1. | $5 $x_1^2$ \(a\le b\) &amp; <b>
    [/x] note[^1] ![pic](u) ~~gone~~ \[ $$ ** __x__
"""
WORDS = SAMPLES.split()


class Author:
    """Writes documents of nested blocks, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._any = random.Random(seed)

    def document(self) -> str:
        return self._joined(self.block(3) for _ in range(self._any.randrange(2, 14)))

    def block(self, depth: int) -> str:
        kinds = [self.paragraph, self.heading, self.fence, self.table, self.formula, self.odd]
        if depth:
            kinds += [lambda: self.quote(depth - 1), *[lambda: self.items(depth - 1)] * 2]
        return self._any.choice(kinds)()

    def paragraph(self) -> str:
        return self._lines(1, self._any.choice([3, 3, 3, 60]))

    def heading(self) -> str:
        return "#" * self._any.randrange(1, 5) + " " + self._sentence()

    def fence(self) -> str:
        language = self._any.choice(["", "py", "sh", "json", "nonesuch"])
        code = "".join(f"{' ' * 4 * self._any.randrange(3)}call({n})\n" for n in range(self._any.choice([3, 5, 90])))
        return f"```{language}\n{code}" + self._any.choice(["```", "```", "```", ""])

    def table(self) -> str:
        columns = self._any.choice([2, 3, 3, 14])
        rows = ["| " + " | ".join(self._sentence(2).replace("|", "") for _ in range(columns)) + " |" for _ in range(
            self._any.choice([2, 4, 40]))]  # fmt: skip
        return "\n".join([rows[0], "|" + ":-:|" * columns, *rows[1:]])

    def formula(self) -> str:
        inner = self._any.choice(["\\frac{a}{b}", "x\n= y\n+ z", "a\n- b", "{", "\\sum_{i=1}^n i"])
        return self._any.choice(["$$\n{}\n$$", "\\[\n{}\n\\]", "$${}$$", "$$\n{}"]).format(inner)

    def odd(self) -> str:
        return self._any.choice(["---", "<details>\n<b>x</b>\n</details>", "a\n===", "    code\n\n    more", "[^1]: foot", "- [ ] a\n- [x] b", "-\n  x", "- > q\n  > r", "1. ```py\n   x\n   ```"])  # fmt: skip

    def quote(self, depth: int) -> str:
        inner = self._joined(self.block(depth) for _ in range(self._any.choice([1, 2, 6])))
        return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))

    def items(self, depth: int) -> str:
        is_ordered, first = self._any.random() < 0.4, self._any.randrange(1, 98)
        joint = self._any.choice(["\n", "\n\n"])
        made: list[str] = []
        for number in range(self._any.choice([2, 5, 30])):
            marker = f"{first + number}. " if is_ordered else "- "
            inner = self._sentence()
            if self._any.random() < 0.3:
                inner += joint + self._joined(self.block(depth) for _ in range(self._any.choice([1, 1, 3])))
            made.append(marker + inner.replace("\n", "\n" + " " * len(marker)))
        return joint.join(made)

    def _joined(self, blocks: Iterator[str]) -> str:
        return self._any.choice(["\n\n", "\n\n", "\n"]).join(blocks)

    def _lines(self, least: int, most: int) -> str:
        return "\n".join(self._sentence() for _ in range(self._any.randrange(least, most + 1)))

    def _sentence(self, most: int = 9) -> str:
        return " ".join(self._any.choices(WORDS, k=self._any.randrange(1, most)))


# --- the run


def flow() -> Flow:
    return Flow(SHEET.width, SHEET.palette, SHEET.strip)


def in_one_piece(source: str) -> list[Strip]:
    return flow().feed(source, is_open=False)


def check(source: str, seed: int) -> None:
    """Stream it, and look at it in between."""
    chance = random.Random(seed)
    ends = sorted({*_ends(len(source), chance), len(source)})
    looked_at = {*chance.sample(ends, min(PREFIXES, len(ends))), len(source)}
    growing, finished = flow(), list[Strip]()
    for end in ends:
        strips = growing.feed(source[:end], is_open=end < len(source))
        assert all(old is new for old, new in zip(finished, strips[: len(finished)], strict=True)), f"{seed}: at {end}"
        finished = strips[: growing.settled_lines]
        if end in looked_at and growing.is_formatted:
            assert strips == in_one_piece(source[:end]), f"{seed}: at {end}"


def _ends(size: int, chance: random.Random) -> Iterator[int]:
    end = 0
    while end < size:
        end += chance.choice([1, 4, 20, 20, 60, 300])
        yield min(end, size)


def documents(number: int, chars: int) -> list[str]:
    """Half of them installed, as far as there are so many."""
    real = [source[:chars] for source in islice(installed(), number // 2)]
    return real + [Author(seed).document()[:chars] for seed in range(number - len(real))]


@pytest.mark.soak
@pytest.mark.parametrize("quarter", range(4))
def test_documents_stream_as_they_look_in_one_piece_and_nothing_finished_moves(quarter: int):
    """Twenty short ones in all; six times HERMES_SOAK in a soak run, and longer ones."""
    rounds = int(os.environ.get("HERMES_SOAK", "0"))
    texts = documents(6 * rounds, LONG_CHARS) if rounds else documents(20, SHORT_CHARS)
    for number in range(quarter, len(texts), 4):
        check(texts[number], number)
