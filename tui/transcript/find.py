"""Finding words in a transcript: in the source of its blocks, whether they are drawn, folded or far away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from tui.transcript.blocks import Activity, Block, ToolCard
from tui.transcript.card_body import EXPANDED_CHARS
from tui.transcript.source import source_of

MOST_HITS = 10_000


class Hit(Struct, frozen=True, order=True):
    """Where the words stand in the source of a block."""

    block: int
    start: int
    end: int


def find_hits(blocks: Sequence[Block], words: str) -> list[Hit]:
    """Every place where the words stand, in order, capitals or not. Made for a thread: the blocks don't change."""
    hits: list[Hit] = []
    for index, block in enumerate(blocks):
        for start, end in _places(_findable(block), words):
            hits.append(Hit(index, start, end))
            if len(hits) == MOST_HITS:
                return hits
    return hits


def places_in(text: str, words: str) -> list[tuple[int, int]]:
    """Where the words stand in a text, as characters."""
    return list(_places(text, words))


def _findable(block: Block) -> str:
    """What can be arrived at: a card shows no more of a long output even when it is unfolded."""
    match block:
        case Activity():
            return ""
        case ToolCard(shown=shown):
            return source_of(block)[: len(shown) + EXPANDED_CHARS]
        case _:
            return source_of(block)


def _places(text: str, words: str) -> Iterator[tuple[int, int]]:
    if not words:
        return
    lower, wanted = text.lower(), words.lower()
    if len(lower) != len(text):  # a few letters grow in lower case, and places would shift
        yield from (match.span() for match in re.finditer(re.escape(words), text, re.IGNORECASE))
        return
    at = lower.find(wanted)
    while at >= 0:
        yield at, at + len(wanted)
        at = lower.find(wanted, at + len(wanted))
