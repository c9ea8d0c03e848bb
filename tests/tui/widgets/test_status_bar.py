"""The status row: right figures, whole fields, one row, literal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.context.meter import ContextFigure, FigureSource
from agent.runtime import Live
from tui.widgets.status_bar import Status, context_text, elapsed, status_line, tokens

FULL = Status(
    model="gpt-5-mini",
    state=Live.WORKING,
    context=ContextFigure(41_200, 128_000, FigureSource.PROVIDER),
    folder="project",
    working_s=12,
    queued=2,
    hint="esc interrupts",
)


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (812, "812"), (1_000, "1k"), (41_200, "41.2k"), (128_000, "128k"), (999_960, "1m"), (1_500_000, "1.5m")],
)
def test_a_count_of_tokens_is_told_in_few_characters(count: int, shown: str):
    assert tokens(count) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(12, "12s"), (185, "3m 05s"), (3_720, "1h 02m")])
def test_elapsed_time(seconds: int, shown: str):
    assert elapsed(seconds) == shown


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        (ContextFigure(41_200, 128_000, FigureSource.PROVIDER), "41.2k/128k 32%"),
        (ContextFigure(41_200, 128_000, FigureSource.PROVIDER_PLUS_ESTIMATE), "~41.2k/128k 32%"),
        (ContextFigure(41_200, None, FigureSource.PROVIDER), "41.2k/?"),
        (ContextFigure(0, 128_000, FigureSource.UNKNOWN), "0/128k 0%"),
    ],
)
def test_an_estimate_and_an_unknown_window_are_marked(figure: ContextFigure, shown: str):
    assert context_text(figure) == shown


@pytest.mark.parametrize(
    ("width", "kept", "gone"),
    [
        (90, ["working 12s", "gpt-5-mini", "32%", "2 queued", "project", "esc interrupts"], []),
        (72, ["working 12s", "gpt-5-mini", "32%", "2 queued", "esc interrupts"], ["project"]),
        (54, ["working 12s", "gpt-5-mini", "32%", "2 queued"], ["project", "esc"]),
        (43, ["working 12s", "gpt-5-mini", "32%"], ["queued"]),
        (28, ["working 12s", "gpt-5-mini"], ["32%"]),
        (14, ["working 12s"], ["gpt"]),
    ],
)
def test_fields_go_whole_and_the_least_first(width: int, kept: list[str], gone: list[str]):
    row = status_line(FULL, width).plain
    assert all(field in row for field in kept) and not any(field in row for field in gone)


@given(width=st.integers(2, 120), model=st.text(), folder=st.text(), hint=st.text())
def test_the_row_is_one_row_and_never_wider_than_the_screen(width: int, model: str, folder: str, hint: str):
    status = Status(model, Live.IDLE, FULL.context, folder, hint=hint)
    row = status_line(status, width).plain
    assert "\n" not in row
    assert cell_len(row) <= width


def test_D01_markup_in_a_model_name_is_text():
    status = Status("[@click=app.quit]x[/]", Live.IDLE, FULL.context, r"\[x] [/")
    row = status_line(status, 100)
    assert "[@click=app.quit]x[/]" in row.plain and r"\[x] [/" in row.plain
