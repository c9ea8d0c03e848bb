"""Tables in cells: side by side while columns stay legible, else each row as a record of named values."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.segment import Segment

from tui.transcript.palette import Palette
from tui.transcript.wrap import Line, Run, cells_of, wrap

Cell = list[Run]

MEASURED_ROWS, MEASURED_CELLS = 16, 96
LEGIBLE_CELLS = 8
GAP = 3  # " │ "


class Table(Struct, frozen=True):
    """Cells as runs; `aligns` has left, right or center for each column."""

    header: list[Cell]
    aligns: list[str]
    rows: list[list[Cell]]


def measured_rows(columns: int) -> int:
    """Widths come from the header and so many rows: rows that arrive later move nothing, and until then all are redrawn."""
    return max(4, min(MEASURED_ROWS, MEASURED_CELLS // columns))


def table_widths(table: Table, width: int) -> list[int] | None:
    """Cells for each column, or None where the table has to be shown as records."""
    measured = [table.header, *table.rows[: measured_rows(len(table.header))]]
    natural = [max(_longest(row[column]) for row in measured) for column in range(len(table.header))]
    room = width - GAP * (len(natural) - 1)
    if sum(natural) <= room:
        return natural
    level = _level(natural, room)
    return [min(cells, level) for cells in natural] if level >= LEGIBLE_CELLS else None


def _longest(cell: Cell) -> int:
    return max(1, *(cells_of(line) for line in wrap(cell, 10_000)))


def _level(natural: Sequence[int], room: int) -> int:
    """The width to which the widest columns are cut so that all fit; narrow columns keep theirs."""
    left = len(natural)
    for cells in sorted(natural):
        if left * cells > room:
            return max(0, room // left)
        room -= cells
        left -= 1
    return max(natural)


def table_lines(table: Table, widths: Sequence[int] | None, width: int, palette: Palette) -> list[Line]:
    """The rows, without the header (`header_lines`)."""
    if widths is None:
        return [line for row in table.rows for line in _record(table.header, row, width, palette)]
    return [line for row in table.rows for line in _row(row, table.aligns, widths, palette)]


def header_lines(table: Table, widths: Sequence[int] | None, palette: Palette) -> list[Line]:
    if widths is None:
        return []
    rule = "─┼─".join("─" * cells for cells in widths)
    return [*_row(table.header, table.aligns, widths, palette), [Segment(rule, palette.faint)]]


def _row(row: Sequence[Cell], aligns: Sequence[str], widths: Sequence[int], palette: Palette) -> list[Line]:
    columns = [wrap(cell, cells) for cell, cells in zip(row, widths, strict=True)]
    lines: list[Line] = []
    for number in range(max(map(len, columns))):
        line: Line = []
        for column, align, cells in zip(columns, aligns, widths, strict=True):
            if line:
                line.append(Segment(" │ ", palette.faint))
            line.extend(_padded(column[number] if number < len(column) else [], align, cells, palette))
        lines.append(line)
    return lines


def _padded(line: Line, align: str, cells: int, palette: Palette) -> Line:
    spare = max(0, cells - cells_of(line))
    left = {"right": spare, "center": spare // 2}.get(align, 0)
    return [Segment(" " * left, palette.text), *line, Segment(" " * (spare - left), palette.text)]


def _record(header: Sequence[Cell], row: Sequence[Cell], width: int, palette: Palette) -> list[Line]:
    """A row as "name: value" lines and a rule."""
    lines: list[Line] = []
    for name, value in zip(header, row, strict=True):
        lines.extend(wrap([*name, (": ", palette.muted), *value], width))
    return [*lines, [Segment("─" * min(width, LEGIBLE_CELLS), palette.faint)]]
