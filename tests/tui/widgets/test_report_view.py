"""A report on the screen: never wider than its place, in columns where they fit, all of it literal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.commands.report import Excerpts, Figures, Sentence, Tone
from tui.widgets.report_view import part_lines

SPENT = Figures(
    ("", "calls", "input", "cost"),
    (("desk:a-model-with-a-long-name", "4", "10k", "$0.50"), ("Together", "12", "1.2m", "$140")),
)


def drawn(part, width: int) -> list[str]:
    return [line.plain.replace("\xa0", " ") for line in part_lines(part, width)]


def test_amounts_stand_beneath_their_heads():
    assert drawn(SPENT, 60) == [
        "                               calls  input   cost",
        "desk:a-model-with-a-long-name      4    10k  $0.50",
        "Together                          12   1.2m   $140",
    ]


def test_a_name_that_is_too_long_takes_more_lines():
    assert drawn(SPENT, 40) == [
        "                     calls  input   cost",
        "desk:a-model-with-a",
        "-long-name               4    10k  $0.50",
        "Together                12   1.2m   $140",
    ]


def test_where_columns_have_no_room_each_row_is_told_in_words():
    assert drawn(SPENT, 24) == [
        "desk:a-model-with-a-long",
        "-name",
        "  calls 4, input 10k,",
        "  cost $0.50",
        "Together",
        "  calls 12, input 1.2m,",
        "  cost $140",
    ]  # fmt: skip


def test_an_excerpt_is_one_line_that_is_cut():
    told = Excerpts((("you", "why\nis it slow"), ("a-tool-with-a-name", "x" * 100)))
    assert drawn(told, 30) == ["you       why is it slow", "a-tool-w… " + "x" * 19 + "…"]


texts = st.text() | st.sampled_from(["[bold]x[/]", "[/", r"\[", "[@click=app.quit]", "\x1b[31m", "宽" * 40])
parts = st.one_of(
    st.builds(Sentence, texts, st.sampled_from(Tone)),
    st.builds(lambda rows: Figures(("", "a", "b"), tuple(rows)), st.lists(st.tuples(texts, texts, texts), min_size=1)),
    st.builds(lambda lines: Excerpts(tuple(lines)), st.lists(st.tuples(texts, texts))),
)


@given(part=parts, width=st.integers(20, 120))
def test_D01_no_text_is_markup_or_makes_a_line_too_wide(part, width: int):
    for line in part_lines(part, width):
        assert line.cell_length <= width
        assert "\n" not in line.plain and "\x1b" not in line.plain
        assert not any("click" in str(span.style) for span in line.spans)


@pytest.mark.parametrize("text", ["[bold]x[/]", "[/", r"\[x]", "[@click=app.quit]x[/]"])
def test_D01_markup_is_shown_as_it_was_written(text: str):
    assert text in "".join(drawn(Sentence(text), 80))
    assert text in "".join(drawn(Excerpts((("you", text),)), 80))
    assert text in "".join(drawn(Figures(("", "n"), ((text, "1"),)), 80))
