"""The grid of a context: a hundred cells, each share in it, nothing told by colour alone."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context.meter import ContextFigure, FigureSource
from agent.context.split import ContextSplit, Share
from tui.widgets.context_grid import CELLS, COLUMNS, FREE, MARKS, ContextGrid, cells_of, grid, legend_lines

NAMES = list(MARKS)


def split(counts: list[int], window: int | None = 100_000, threshold: int | None = 75_000) -> ContextSplit:
    figure = ContextFigure(sum(counts), window, FigureSource.PROVIDER, threshold=threshold)
    return ContextSplit(figure, tuple(Share(name, count) for name, count in zip(NAMES, counts, strict=False)))


def test_each_cell_is_one_percent_and_what_is_free_past_the_threshold_has_a_sign_of_its_own():
    runs = [(mark.sign, len(list(cells))) for mark, cells in groupby(grid(split([2_000, 400, 10_000])))]
    assert runs == [("◆", 2), ("▲", 1), ("■", 10), ("·", 62), ("░", 25)]


@given(
    counts=st.lists(st.integers(0, 3_000_000), min_size=1, max_size=len(NAMES)),
    window=st.integers(1, 2_000_000),
    threshold=st.none() | st.integers(1, 2_000_000),
)
def test_there_are_always_a_hundred_cells_and_each_share_has_one(counts, window, threshold):
    shown = split(counts, window, threshold)
    assert len(grid(shown)) == CELLS
    assert [bool(cells) for cells in cells_of(shown)] == [count > 0 for count in counts]


def test_no_two_categories_have_the_same_sign_or_colour():
    marks = [*MARKS.values(), *FREE]
    assert len({mark.sign for mark in marks}) == len({mark.style for mark in marks}) == len(marks)


@pytest.mark.parametrize("width", [30, 60, 90])
def test_grid_and_legend_stand_beside_each_other_where_there_is_room(width: int):
    lines = [line.plain for line in ContextGrid(split([2_000, 400, 10_000]))._lines(width)]
    assert max(map(len, lines)) <= width
    assert ("System prompt" in lines[0]) == (width > 30)
    assert ("· · ·" in "\n".join(lines)) == (width == 90)
    assert sum(line.count("■") for line in lines) == 10 + 1


def test_of_an_unknown_window_only_the_amounts_are_told():
    unknown = split([2_000, 400], window=None, threshold=None)
    assert [line.plain.split() for line in ContextGrid(unknown)._lines(2 * COLUMNS)] == [
        ["◆", "System", "prompt", "2k"],
        ["▲", "Tool", "definitions", "400"],
    ]


@given(width=st.integers(24, 120), name=st.text())
def test_a_category_that_is_not_known_is_one_literal_line(width: int, name: str):
    figure = ContextFigure(900, 1_000, FigureSource.PROVIDER)
    lines = legend_lines(ContextSplit(figure, (Share(name, 900),)), width)
    assert len(lines) == 2 and all(line.cell_length <= width and "\n" not in line.plain for line in lines)
