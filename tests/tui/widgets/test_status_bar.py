"""The status row: right figures, whole fields, one row, literal."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.context.meter import ContextFigure, FigureSource
from agent.session_run import Live
from tui.widgets.context_field import EMPTY, FILLED, FORMS, TICK, bar, cells_of, context_forms
from tui.widgets.status_bar import Name, Status, elapsed, fields, fitted, status_line

FIGURE = ContextFigure(41_200, 128_000, FigureSource.PROVIDER, threshold=96_000)
FULL = Status(
    model="gpt-5-mini",
    state=Live.WORKING,
    context=FIGURE,
    folder="project",
    working_s=12,
    queued=2,
    hint="esc interrupts",
)

figures = st.builds(
    ContextFigure,
    used=st.integers(0, 3_000_000),
    window=st.none() | st.integers(1, 2_000_000),
    source=st.sampled_from(FigureSource),
    threshold=st.none() | st.integers(1, 2_000_000),
    declared=st.none() | st.just(2_000_000),
    unread=st.sampled_from([0, 4_000]),
)


def text(spans) -> str:
    return "".join(part for part, _ in spans)


@pytest.mark.parametrize(("seconds", "shown"), [(12, "12s"), (185, "3m 05s"), (3_720, "1h 02m")])
def test_elapsed_time(seconds: int, shown: str):
    assert elapsed(seconds) == shown


# --- the field of the context


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({}, ["41.2k/128k ▓▓▓░░░░░┃░░ 32%", "41.2k/128k ▓▓░░┃░░ 32%", "41.2k/128k 32%", "41.2k 32%", "32%"]),
        ({"threshold": None, "used": 0}, ["0/128k ░░░░░░░░░░ 0%", "0/128k ░░░░░░ 0%", "0/128k 0%", "0 0%", "0%"]),
        (
            {"source": FigureSource.PROVIDER_PLUS_ESTIMATE, "window": 43_000, "declared": 128_000, "unread": 3_900},
            [
                "~41.2k≠/43k! ▓▓▓▓▓▓▓▓▓▒ 96% ▲▲",
                "~41.2k≠/43k! ▓▓▓▓▓▒ 96% ▲▲",
                "~41.2k≠/43k! 96% ▲▲",
                "~41.2k≠! 96% ▲▲",
                "~96%≠! ▲▲",
            ],
        ),
        ({"window": None}, ["41.2k/?"] * 4 + ["41.2k"]),
    ],
)
def test_G08_an_estimate_an_unknown_window_and_a_smaller_one_are_marked_in_every_form(change, shown: list[str]):
    figure = msgspec.structs.replace(FIGURE, **change)
    assert [text(form) for form in context_forms(figure)] == shown


@given(figure=figures)
def test_each_form_of_the_context_is_narrower_than_the_one_before(figure: ContextFigure):
    widths = [cells_of(form) for form in context_forms(figure)]
    assert len(widths) == FORMS and all(wide >= narrow for wide, narrow in pairwise(widths))


@given(figure=figures.filter(lambda one: one.window), cells=st.sampled_from([6, 10]))
def test_the_bar_reaches_its_tick_just_when_compaction_is_due_and_its_end_when_the_window_is_full(figure, cells):
    drawn = text(bar(figure, cells))
    before, tick, after = drawn.partition(TICK)
    assert cell_len(before + after) == cells
    assert set(before + after) == {FILLED} or figure.used < figure.window
    assert (before + after).startswith(EMPTY) == (figure.used == 0)
    if tick:
        assert (set(before) == {FILLED}) == (figure.used >= figure.threshold)


@pytest.mark.parametrize(
    ("percent", "style", "sign"),
    [
        (0, "$context-calm", ""),
        (49, "$context-calm", ""),
        (50, "$context-half", ""),
        (79, "$context-half", ""),
        (80, "$context-high", "▲"),
        (94, "$context-high", "▲"),
        (95, "bold $context-full", "▲▲"),
        (100, "bold $context-full", "▲▲"),
    ],
)
def test_the_fill_is_told_in_four_steps_and_the_upper_two_not_by_colour_alone(percent: int, style: str, sign: str):
    figure = ContextFigure(percent * 1_000, 100_000, FigureSource.PROVIDER)
    assert [context_forms(figure)[-1]] == [[(f"{percent}% {sign}".rstrip(), style)]]


# --- the row


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (100, "● working 12s · gpt-5-mini · 41.2k/128k ▓▓▓░░░░░┃░░ 32% · 2 queued · project · esc interrupts"),
        (91, "● working 12s · gpt-5-mini · 41.2k/128k ▓▓░░┃░░ 32% · 2 queued · project · esc interrupts"),
        (80, "● working 12s · gpt-5-mini · 41.2k/128k ▓▓░░┃░░ 32% · 2 queued · esc interrupts"),
        (72, "● working 12s · gpt-5-mini · 41.2k/128k 32% · 2 queued · esc interrupts"),
        (66, "● working 12s · gpt-5-mini · 41.2k/128k ▓▓▓░░░░░┃░░ 32% · 2 queued"),
        (54, "● working 12s · gpt-5-mini · 41.2k/128k 32% · 2 queued"),
        (43, "● working 12s · gpt-5-mini · 41.2k/128k 32%"),
        (40, "● working 12s · gpt-5-mini · 41.2k 32%"),
        (34, "● working 12s · gpt-5-mini · 32%"),
        (28, "● working 12s · gpt-5… · 32%"),
        (27, "● working 12s · 41.2k 32%"),
        (21, "● working 12s · 32%"),
        (14, "● working 12s"),
        (9, "● workin…"),
    ],
)
def test_what_is_told_at_a_width(width: int, shown: str):
    told = " · ".join(text(field.shown) for field in fitted(fields(FULL), width))
    assert (told if width > 9 else status_line(FULL, width).plain) == shown


def test_the_hint_stands_at_the_right_edge():
    row = status_line(FULL, 130).plain
    assert cell_len(row) == 130
    assert row.endswith("project" + " " * 40 + "esc interrupts")


@given(
    figure=figures,
    width=st.integers(2, 170),
    model=st.text(),
    folder=st.text(),
    hint=st.text(),
    queued=st.integers(0, 12),
)
def test_the_row_is_one_row_and_never_wider_than_the_screen(figure, width, model, folder, hint, queued):
    status = Status(model, Live.IDLE, figure, folder, hint=hint, queued=queued)
    row = status_line(status, width).plain
    assert "\n" not in row
    assert cell_len(row) <= width


@given(figure=figures, width=st.integers(20, 170))
def test_a_wider_row_never_tells_less(figure: ContextFigure, width: int):
    status = msgspec.structs.replace(FULL, context=figure)
    narrow, wide = (fitted(fields(status), cells) for cells in (width, width + 1))
    assert {field.name for field in narrow} <= {field.name for field in wide}


def test_D01_markup_in_a_model_name_is_text():
    status = Status("[@click=app.quit]x[/]", Live.IDLE, FULL.context, r"\[x] [/")
    row = status_line(status, 100)
    assert "[@click=app.quit]x[/]" in row.plain and r"\[x] [/" in row.plain


@pytest.mark.parametrize(("unstored", "shown"), [(3, "3 not stored"), (0, "not stored")])
def test_what_is_not_stored_is_told_before_the_model_and_in_a_narrow_terminal(unstored: int, shown: str):
    status = msgspec.structs.replace(FULL, unstored=unstored)
    assert f"12s · {shown} · gpt-5-mini" in status_line(status, 100).plain
    assert status_line(status, 30).plain.endswith(shown)
    assert "not stored" not in status_line(FULL, 100).plain


def test_a_compaction_takes_the_place_of_the_turn_and_says_how_to_cancel_it_in_a_narrow_terminal():
    status = msgspec.structs.replace(FULL, compacting_s=72)
    assert status_line(status, 120).plain.startswith("● compacting 1m 12s · esc cancels · gpt-5-mini")
    assert status_line(status, 34).plain == "● compacting 1m 12s · esc cancels"
    assert Name.HINT not in [field.name for field in fields(status)]


@pytest.mark.parametrize("width", [30, 60, 120])
def test_a_mode_other_than_asking_stands_beside_the_state_in_any_width(width: int):
    assert "yolo" in status_line(msgspec.structs.replace(FULL, mode="yolo"), width).plain
