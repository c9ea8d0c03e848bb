"""Where a long block can be cut, so that what stands before the cut is drawn once and for all.

A block that is cut goes on behind its header: the lines that make its rest read as the same block again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from tui.transcript.highlight import groups
from tui.transcript.markdown import WHOLE, Continuation, Node, Renderer, first_number, hang_of, table_of
from tui.transcript.tables import measured_rows, table_widths

OPEN_ITEMS = 2
"""The last items of a list stay open: the next line may still belong to them."""
LONG_CHARS = 2_500
"""A longer line or paragraph is set in pieces, each for itself, wherever it comes from."""
NESTED_CHARS = 1_500
"""Quotes and list items are cut within when they are longer."""

_LEAD = re.compile(r"[ >]*(?:[-+*]|\d{1,9}[.)]) {1,4}(?=[^ ])")


class Cut(Struct, frozen=True):
    """`line` is the first one behind the cut, and `rest` tells how the block goes on there, behind its header."""

    line: int
    header: tuple[str, ...]
    rest: Continuation


def cut_of(node: Node, renderer: Renderer, going_on: Continuation, width: int | None = None) -> Cut | None:
    """The cut behind what is finished of a block, None while it is short."""
    width = renderer.width_of(node) if width is None else width
    match node.kind:
        case "paragraph":
            done = long_part(node, renderer)
            return Cut(node.lines[0] + done, (), Continuation(has_header=False)) if done else None
        case "fence":
            return _in_fence(node, renderer)
        case "bullet_list" | "ordered_list":
            return _in_list(node, renderer, going_on, width)
        case "table":
            return _in_table(node, renderer, going_on, width)
        case "blockquote" if _size(node, renderer) >= NESTED_CHARS:
            return _in_quote(node, renderer, going_on, width)
        case _:
            return None


def long_part(node: Node, renderer: Renderer) -> int:
    """How many lines of a long paragraph make a piece of their own; 0 where it is not long."""
    if node.kind != "paragraph":
        return 0
    first, end = node.lines
    sizes = accumulate(len(line) for line in renderer.source[first : end - 1])
    return next((number for number, size in enumerate(sizes, 1) if size >= LONG_CHARS), 0)


def _in_fence(node: Node, renderer: Renderer) -> Cut | None:
    done = sum(group.count("\n") for group in list(groups(node.token.content))[:-1])
    first = node.lines[0]
    return Cut(first + 1 + done, (renderer.source[first],), Continuation(has_header=False)) if done else None


def _in_table(node: Node, renderer: Renderer, going_on: Continuation, width: int) -> Cut | None:
    rows = [row for part in node.children[1:] for row in part.children]
    columns = len(node.children[0].children[0].children)
    if len(rows) < (measured_rows(columns) + 1 if going_on.has_header else 2):
        return None
    widths = table_widths(table_of(node, renderer.palette), width) if going_on.has_header else going_on.widths
    first = node.lines[0]
    header = (renderer.source[first], renderer.source[first + 1])
    return Cut(rows[-1].lines[0], header, Continuation(widths=widths, has_header=False))


def _in_quote(node: Node, renderer: Renderer, going_on: Continuation, width: int) -> Cut | None:
    cut = _among(node.children, renderer, going_on.inside or WHOLE, width - 2)
    return cut and Cut(cut.line, cut.header, Continuation(inside=cut.rest))


def _in_list(node: Node, renderer: Renderer, going_on: Continuation, width: int) -> Cut | None:
    items = node.children
    number = first_number(node, going_on)
    done = len(items) - OPEN_ITEMS
    if done >= 1:
        rest = Continuation(number=number + done, has_gap=renderer.follows_blank(items[done]))
        return Cut(items[done].lines[0], (), rest)
    if _size(items[-1], renderer) < NESTED_CHARS:
        return None
    is_begun = len(items) == 1 and going_on.hang is not None
    hang = (
        going_on.hang if is_begun and going_on.hang is not None else hang_of(items[-1], node, number + len(items) - 1)
    )
    children = items[-1].children[is_begun:]
    inside = (going_on.inside if is_begun else None) or WHOLE
    cut = _among(children, renderer, inside, max(1, width - hang)) if children else None
    return cut and _in_item(items[-1], cut, renderer, Continuation(number=number + len(items) - 1, hang=hang))


def _in_item(item: Node, cut: Cut, renderer: Renderer, rest: Continuation) -> Cut | None:
    """The cut within an item, behind a heading that takes the place of what is drawn of it."""
    source = renderer.source
    first = item.lines[0]
    lead = _LEAD.match(source[first])
    if lead is None or (cut.header and cut.header[0] == source[first]):
        return None
    size = len(lead[0])
    if len(source[cut.line]) < size or source[cut.line][:size].strip(" >"):
        return None  # indented by tabs
    rest = Continuation(number=rest.number, hang=rest.hang, inside=cut.rest)
    return Cut(cut.line, (f"{lead[0]}# .", *cut.header), rest)


def _among(children: Sequence[Node], renderer: Renderer, going_on: Continuation, width: int) -> Cut | None:
    """The cut in the last of the blocks inside another, or before it.

    A paragraph stays whole here: cut, it would look otherwise than where the block around it was finished at once.
    """
    last = children[-1]
    is_first = len(children) == 1
    cut = cut_of(last, renderer, going_on if is_first else WHOLE, width) if last.kind != "paragraph" else None
    if cut is None and len(children) > 1:
        cut = Cut(last.lines[0], (), Continuation(has_gap=renderer.follows_blank(last)))
    return cut


def _size(node: Node, renderer: Renderer) -> int:
    first, end = node.lines
    return sum(map(len, renderer.source[first:end]))
