"""Markdown as lines of segments. Imports markdown-it, so it is itself imported only once the first frame is out.

What a block looks like depends on its own source alone (no reference definitions, spacing as written), so that a
block which is drawn stays as it is while text is added behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markdown_it.token import Token
from msgspec import Struct, field
from rich.segment import Segment
from rich.style import Style

from tui.transcript.formulas import readable
from tui.transcript.highlight import coloured
from tui.transcript.inline import inline_runs
from tui.transcript.palette import Palette
from tui.transcript.syntax import parser
from tui.transcript.tables import Cell, Table, header_lines, table_lines, table_widths
from tui.transcript.wrap import Line, Run, wrap, wrap_hard

COLUMN_CELLS = 100
"""Text is set no wider than this, however wide the screen is. Tables may use all of it."""

BULLETS = "•◦▪"
BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


class Node(Struct, frozen=True):
    """A block token with what stands inside it."""

    token: Token
    children: list[Node] = field(default_factory=list["Node"])

    @property
    def kind(self) -> str:
        return self.token.type.removesuffix("_open")

    @property
    def lines(self) -> tuple[int, int]:
        """First source line, and the one after the last."""
        first, end = self.token.map or (0, 0)
        return first, end


class Continuation(Struct, frozen=True):
    """How a block whose beginning is drawn already goes on: its header is not drawn again."""

    number: int | None = None  # of the next item of an ordered list
    has_gap: bool = False  # whether an empty line comes before what is still to be drawn
    hang: int | None = None  # by how many cells the list item whose beginning is drawn is indented
    inside: Continuation | None = None  # how the first block inside this one goes on
    widths: Sequence[int] | None = None  # of a table's columns
    has_header: bool = True


WHOLE = Continuation()


PARSER = parser()


def parse(source: str) -> list[Node]:
    """The top-level blocks of a source."""
    root: list[Node] = []
    stack = [root]
    for token in PARSER.parse(source):
        if token.nesting < 0:
            stack.pop()
            continue
        node = Node(token)
        stack[-1].append(node)
        if token.nesting > 0:
            stack.append(node.children)
    return root


def table_of(node: Node, palette: Palette) -> Table:
    """The cells of a `table` node."""
    head, *body = [row.children for part in node.children for row in part.children]
    return Table(
        header=[_cell(cell, palette.strong, palette) for cell in head],
        aligns=[str(cell.token.attrs.get("style", "")).removeprefix("text-align:") for cell in head],
        rows=[[_cell(cell, palette.text, palette) for cell in row] for row in body],
    )


def _cell(node: Node, style: Style, palette: Palette) -> Cell:
    return [run for child in node.children for run in inline_runs(child.token, palette, style)]


class Renderer(Struct, frozen=True):
    """Sets blocks `width` cells wide. `source` is the text the blocks were parsed from, by lines."""

    source: Sequence[str]
    width: int
    palette: Palette

    def block(self, node: Node, going_on: Continuation = WHOLE) -> list[Line]:
        """A top-level block."""
        lines = self._block(node, self.width_of(node), 0, going_on)
        return [[], *lines] if going_on.has_gap else lines

    def width_of(self, node: Node) -> int:
        """The cells of a top-level block."""
        return self.width if node.kind == "table" else min(self.width, COLUMN_CELLS)

    def _block(self, node: Node, width: int, depth: int, going_on: Continuation = WHOLE) -> list[Line]:
        match node.kind:
            case "heading":
                return wrap(self._inline(node, self._heading_style(node.token.tag)), width)
            case "paragraph":
                return wrap(self._inline(node, self.palette.text), width)
            case "bullet_list" | "ordered_list":
                return self._list(node, width, depth, going_on)
            case "blockquote":
                bar = Segment("▎ ", self.palette.faint)
                lines = self._blocks(node.children, width - 2, depth, going_on.inside or WHOLE)
                return [[bar, *line] for line in lines]
            case "fence" | "code_block":
                return self._code(node.token, width, going_on)
            case "table":
                return self._table(node, width, going_on)
            case "formula_block":
                return self._formula(node.token, width)
            case "hr":
                return [[Segment("─" * width, self.palette.faint)]]
            case _:
                return wrap_hard([(node.token.content.rstrip("\n"), self.palette.muted)], width)

    def _blocks(self, nodes: Iterable[Node], width: int, depth: int, going_on: Continuation) -> list[Line]:
        """Blocks inside another, with an empty line where the source has one. `going_on` is of the first."""
        lines: list[Line] = []
        for number, node in enumerate(nodes):
            if self.follows_blank(node) if number else going_on.has_gap:
                lines.append([])
            lines.extend(self._block(node, width, depth, WHOLE if number else going_on))
        return lines

    def follows_blank(self, node: Node) -> bool:
        """Whether the source has an empty line before this block."""
        first = node.lines[0]
        return first > 0 and not self.source[first - 1].strip(" \t>")

    def _inline(self, node: Node, style: Style) -> list[Run]:
        return [run for child in node.children for run in inline_runs(child.token, self.palette, style)]

    def _heading_style(self, tag: str) -> Style:
        match tag:
            case "h1":
                return self.palette.heading + Style(underline=True)
            case "h2":
                return self.palette.heading
            case _:
                return self.palette.strong

    def _list(self, node: Node, width: int, depth: int, going_on: Continuation) -> list[Line]:
        number = first_number(node, going_on)
        lines: list[Line] = []
        for index, item in enumerate(node.children):
            if index and self.follows_blank(item):
                lines.append([])
            is_ordered = node.kind == "ordered_list"
            marker = f"{number + index}. " if is_ordered else f"{BULLETS[min(depth, 2)]} "
            lines.extend(self._item(item, marker, width, depth, WHOLE if index else going_on))
        return lines

    def _item(self, item: Node, marker: str, width: int, depth: int, going_on: Continuation) -> list[Line]:
        if going_on.hang is not None:
            return self._rest_of_item(item, going_on.hang, width, depth, going_on.inside or WHOLE)
        marker = self._take_box(item) or marker
        hang = len(marker)
        lines = self._blocks(item.children, max(1, width - hang), depth + 1, WHOLE) or [[]]
        first, *rest = lines
        indent = Segment(" " * hang, self.palette.text)
        return [[Segment(marker, self.palette.accent), *first], *([indent, *line] for line in rest)]

    def _rest_of_item(self, item: Node, hang: int, width: int, depth: int, inside: Continuation) -> list[Line]:
        """What comes behind the item's first block, which stands for all that is drawn of it."""
        lines = self._blocks(item.children[1:], max(1, width - hang), depth + 1, inside)
        indent = Segment(" " * hang, self.palette.text)
        return [[indent, *line] for line in lines]

    def _take_box(self, item: Node) -> str:
        """The check box an item begins with, taken out of its text; "" for none."""
        words = _first_words(item)
        box = BOXES.get(words.content[:4], "") if words else ""
        if words and box:
            words.content = words.content[4:]
        return box

    def _code(self, token: Token, width: int, going_on: Continuation) -> list[Line]:
        language = token.info.split()[0] if token.info.strip() else ""
        palette = self.palette
        code = token.content.removesuffix("\n")
        body = wrap_hard(coloured(code, language.lower(), palette), max(1, width - 2))
        label = (
            wrap_hard([(language, palette.block_label)], max(1, width - 2)) if going_on.has_header and language else []
        )
        return [_on_ground(line, width, palette.block) for line in (*label, *body)]

    def _formula(self, token: Token, width: int) -> list[Line]:
        """Set apart by an indent; one that is not closed stands as it was written."""
        if not token.markup:
            return wrap_hard([(token.content, self.palette.text)], width)
        runs: list[Run] = [(readable(token.content), self.palette.code)]
        if token.info:
            runs.append((f" {token.info}", self.palette.text))
        indent = Segment("  ", self.palette.text)
        return [[indent, *line] for line in wrap(runs, max(1, width - 2))]

    def _table(self, node: Node, width: int, going_on: Continuation) -> list[Line]:
        table = table_of(node, self.palette)
        if not going_on.has_header:
            return table_lines(table, going_on.widths, width, self.palette)
        widths = table_widths(table, width)
        return [*header_lines(table, widths, self.palette), *table_lines(table, widths, width, self.palette)]


def first_number(node: Node, going_on: Continuation) -> int:
    """The number of a list's first item, as it is shown."""
    return int(node.token.attrs.get("start", 1)) if going_on.number is None else going_on.number


def hang_of(item: Node, node: Node, number: int) -> int:
    """By how many cells the lines of a list's item are indented."""
    words = _first_words(item)
    is_boxed = words is not None and words.content[:4] in BOXES
    return len(f"{number}. ") if node.kind == "ordered_list" and not is_boxed else len("• ")


def _first_words(item: Node) -> Token | None:
    """The text an item begins with."""
    inline = item.children[0].children[0].token.children if item.children and item.children[0].children else None
    return inline[0] if inline and inline[0].type == "text" else None


def _on_ground(line: Line, width: int, ground: Style) -> Line:
    """A line of code on its own background, `width` cells wide."""
    used = sum(segment.cell_length for segment in line)
    return [Segment(" ", ground), *line, Segment(" " * max(0, width - 1 - used), ground)]
