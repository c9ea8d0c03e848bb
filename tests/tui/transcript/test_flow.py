"""An answer that grows: no exception on any prefix, bounded work, and the same picture as in one piece."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES

from tui.transcript.drawing import Sheet
from tui.transcript.flow import Flow
from tui.transcript.palette import palette_of

SHEET = Sheet(64, palette_of(BUILTIN_THEMES["textual-dark"].to_color_system().generate()))

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| **3** | `4` |\n\nafter\n"
FENCE = "Ex:\n\n```python\ndef f():\n    return 1\n```\n\ndone\n"

WORDS = st.sampled_from(
    [
        "word",
        "**bold**",
        "*it",
        "`code`",
        "日本語",
        "e\u0301",
        "👩🏽‍💻",
        "[a](http://b)",
        "#",
        "-",
        "1.",
        "|",
        "```",
        "&amp;",
        "<b>",
        "[/x]",
    ]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
BLOCK = st.one_of(
    SENTENCE,
    SENTENCE.map(lambda text: f"## {text}"),
    st.lists(SENTENCE, min_size=1, max_size=6).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(SENTENCE, min_size=1, max_size=6).map(lambda items: "\n\n".join(f"1. {item}\n   - sub" for item in items)),
    st.lists(SENTENCE, min_size=1, max_size=5).map(lambda lines: "```py\n" + "\n".join(lines) + "\n```"),
    st.lists(SENTENCE, min_size=1, max_size=4).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    st.lists(SENTENCE, min_size=1, max_size=5).map(
        lambda rows: "| one | two |\n|---|:-:|\n" + "\n".join(f"| {row.replace('|', '')} | x |" for row in rows)
    ),
    st.sampled_from(["---", "<details>\n<b>x</b>\n</details>", "a\n===", "~~~\nopen fence", "- [ ] todo\n- [x] done"]),
)
DOCUMENT = st.lists(BLOCK, min_size=1, max_size=6).flatmap(
    lambda blocks: st.sampled_from(["\n\n", "\n"]).map(lambda joint: joint.join(blocks))
)


def flow() -> Flow:
    return Flow(SHEET.width, SHEET.palette, SHEET.strip)


def in_one_piece(source: str) -> list[Strip]:
    return flow().feed(source, is_open=False)


def in_pieces(source: str, sizes: Iterator[int]) -> list[Strip]:
    growing, end, strips = flow(), 0, list[Strip]()
    while end < len(source):
        end = min(len(source), end + next(sizes))
        strips = growing.feed(source[:end], is_open=end < len(source))
    return strips


def of_size(size: int) -> Iterator[int]:
    while True:
        yield size


@pytest.mark.parametrize("source", [TABLE, FENCE], ids=["table", "fence"])
def test_D04_a_table_and_a_fence_stream_by_character_and_end_as_in_one_piece(source: str):
    assert in_pieces(source, of_size(1)) == in_one_piece(source)


@settings(max_examples=100, deadline=None)
@given(DOCUMENT, st.integers(1, 40))
def test_D04_any_document_streamed_in_pieces_ends_as_in_one_piece(source: str, size: int):
    assert in_pieces(source, of_size(size)) == in_one_piece(source)


@settings(max_examples=40, deadline=None)
@given(DOCUMENT)
def test_D04_each_prefix_looks_like_that_prefix_in_one_piece(source: str):
    growing = flow()
    for end in range(1, len(source) + 1, 7):
        assert growing.feed(source[:end], is_open=True) == in_one_piece(source[:end])


LONG = {
    "list": "".join(f"- item **{n}** with some words\n" for n in range(400)),
    "ordered list with gaps": "".join(f"{n}. item\n\n   more of it\n\n" for n in range(1, 200)),
    "table": "| n | name |\n|--:|---|\n" + "".join(f"| {n} | row `{n}` |\n" for n in range(300)),
    "table of many columns": ("| head " * 12 + "|\n" + "|---" * 12 + "|\n") + ("| a long cell here " * 12 + "|\n") * 60,
    "list in an item": "- all:\n" + "".join(f"  {n}. item **{n}**\n     - deeper\n" for n in range(1, 200)),
    "fence in an item": "7. Do:\n\n   ```py\n" + "".join(f"   def f{n}():\n       return {n}\n" for n in range(200)),
    "fence in a quote": "> See:\n>\n> ```py\n" + "".join(f"> def f{n}():\n>     return {n}\n" for n in range(200)),
    "quote": "".join(f"> line {n}\n>\n> - [ ] a\n> - b\n" for n in range(150)),
    "fence": "```python\n" + "".join(f"def f{n}():\n    return {n}\n\n" for n in range(170)) + "```\n",
    "paragraph": "many words in one line " * 500,
    "paragraph of lines": "a line of words\n" * 500,
}


@pytest.mark.parametrize("source", LONG.values(), ids=LONG.keys())
def test_D13_a_long_block_streams_in_bounded_work_and_ends_as_in_one_piece(source: str):
    """Counts lines set, not time: without settling inside a block, it would be thousands of times the block."""
    growing, most, end = flow(), 0, 0
    seed = random.Random(13)
    strips: list[Strip] = []
    while end < len(source):
        before = growing.drawn_lines
        end = min(len(source), end + seed.randrange(20, 80))
        strips = growing.feed(source[:end], is_open=end < len(source))
        most = max(most, growing.drawn_lines - before)
    assert strips == in_one_piece(source)
    assert most <= 300


def test_lines_that_did_not_change_keep_their_strips():
    growing = flow()
    first = growing.feed("A line.\n\nA second one that ", is_open=True)
    second = growing.feed("A line.\n\nA second one that goes on", is_open=True)
    assert [old is new for old, new in zip(first, second, strict=True)] == [True, True, False]


def test_D16_odd_markdown_keeps_every_word(draw: Callable[..., list[Strip]]):
    from tui.transcript.blocks import Answer

    source = (
        "- a\n  - b\n    - c\n      - d\n        - e\n          - f\n\n"
        "````\n```\ninner\n```\n````\n\n<details><summary>more</summary></details>\n\n"
        "- [ ] open\n- [x] done\n\nnote[^1]\n\n[^1]: the foot\n\n![pic](http://x/y.png)\n\n[ref]: http://later\n"
    )
    text = "\n".join(strip.text for strip in draw(Answer(source)))
    for word in ("f", "inner", "```", "<details><summary>more</summary></details>", "☐ open", "☑ done", "the foot"):
        assert word in text
    assert "[image: pic] (http://x/y.png)" in text
    assert "http://later" in text


def test_a_table_too_wide_for_legible_columns_becomes_records(draw: Callable[..., list[Strip]]):
    from tui.transcript.blocks import Answer

    names = [f"column{n}" for n in range(20)]
    source = f"| {' | '.join(names)} |\n|{'---|' * 20}\n| {' | '.join('value of ' + name for name in names)} |\n"
    lines = [strip.text.strip() for strip in draw(Answer(source), cells=60)]
    assert "column7: value of column7" in lines
