"""Markdown as lines of segments. Imports markdown-it, so it is itself imported only once the first frame is out.

What a block looks like depends on its own source alone (no reference definitions, spacing as written), so that a
block which is drawn stays as it is while text is added behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct, field
from rich.segment import Segment
from rich.style import Style

from tui.transcript.highlight import coloured
from tui.transcript.inline import inline_runs
from tui.transcript.palette import Palette
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
    has_gap: bool = False  # whether an empty line comes before the next list item
    widths: Sequence[int] | None = None  # of a table's columns
    has_header: bool = True


WHOLE = Continuation()


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).disable(["reference"])


PARSER = _parser()


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
        return self._block(node, min(self.width, COLUMN_CELLS), 0, going_on)

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
                return [[bar, *line] for line in self._blocks(node.children, width - 2, depth)]
            case "fence" | "code_block":
                return self._code(node.token, width, going_on)
            case "table":
                return self._table(node, width if depth else self.width, going_on)
            case "hr":
                return [[Segment("─" * width, self.palette.faint)]]
            case _:
                return wrap_hard([(node.token.content.rstrip("\n"), self.palette.muted)], width)

    def _blocks(self, nodes: Iterable[Node], width: int, depth: int) -> list[Line]:
        """Blocks inside another, with an empty line where the source has one."""
        lines: list[Line] = []
        for node in nodes:
            if lines and self.follows_blank(node):
                lines.append([])
            lines.extend(self._block(node, width, depth))
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
        lines: list[Line] = [[]] if going_on.has_gap else []
        for index, item in enumerate(node.children):
            if index and self.follows_blank(item):
                lines.append([])
            is_ordered = node.kind == "ordered_list"
            marker = f"{number + index}. " if is_ordered else f"{BULLETS[min(depth, 2)]} "
            lines.extend(self._item(item, marker, width, depth))
        return lines

    def _item(self, item: Node, marker: str, width: int, depth: int) -> list[Line]:
        box = self._take_box(item)
        marker = box or marker
        hang = len(marker)
        lines = self._blocks(item.children, max(1, width - hang), depth + 1) or [[]]
        first, *rest = lines
        indent = Segment(" " * hang, self.palette.text)
        return [[Segment(marker, self.palette.accent), *first], *([indent, *line] for line in rest)]

    def _take_box(self, item: Node) -> str:
        """The check box an item begins with, taken out of its text; "" for none."""
        words = item.children[0].children[0].token.children if item.children and item.children[0].children else None
        if not words or words[0].type != "text":
            return ""
        box = BOXES.get(words[0].content[:4], "")
        if box:
            words[0].content = words[0].content[4:]
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

    def _table(self, node: Node, width: int, going_on: Continuation) -> list[Line]:
        table = table_of(node, self.palette)
        if not going_on.has_header:
            return table_lines(table, going_on.widths, width, self.palette)
        widths = table_widths(table, width)
        return [*header_lines(table, widths, self.palette), *table_lines(table, widths, width, self.palette)]


def first_number(node: Node, going_on: Continuation) -> int:
    """The number of a list's first item, as it is shown."""
    return int(node.token.attrs.get("start", 1)) if going_on.number is None else going_on.number


def _on_ground(line: Line, width: int, ground: Style) -> Line:
    """A line of code on its own background, `width` cells wide."""
    used = sum(segment.cell_length for segment in line)
    return [Segment(" ", ground), *line, Segment(" " * max(0, width - 1 - used), ground)]
