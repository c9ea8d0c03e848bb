"""Whatever the text, rows are literal, still and exactly as wide as the screen."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.strip import Strip

from session.models import Approval, Finish, Level
from tui.transcript.blocks import Activity, Answer, Block, CardState, NoticeBlock, Prompt, Reasoning, Refusal, ToolCard
from tui.transcript.cards import status_of
from tui.transcript.wrap import chop

Draw = Callable[..., list[Strip]]

MARKUP = ["[/", "[/]", "[bold]x", "[red", "]", "[@click=app.quit]x[/]", "[link=file:///etc]x[/link]", "[bold"]
PATHS = ["10:06: [/Users/x/app]", "Copying: [\\]", "[|]", "[-]"]
CONTROLS = [
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H",
    "\x1b[?1049l",
    "\x1b]0;t\x07",
    "\x1bPq\x1b\\",
    "a\x00b",
    "\x1b",
    "\x9b2J",
]
WIDE = ["あいう", "👨‍👩‍👧‍👦", "⏺️", "e\u0301", "한글", "שלום abc", "🇯🇵", "👩🏽‍💻"]


def everywhere(text: str) -> list[Block]:
    """One block of each kind that holds this text."""
    return [
        Prompt(text),
        Reasoning(text),
        Answer(text),
        Answer(f"```\n{text}\n```"),
        Answer(f"| a |\n|---|\n| {text} |"),
        Refusal(text),
        ToolCard("c", text or "t", text, CardState.ERROR, cause=text, output=text),
        ToolCard("c", "t", text, CardState.NOT_RUN, Approval.CANCELLED, cause=text),
        ToolCard("c", "t", text, CardState.RUNNING, output=text),
        NoticeBlock(Level.ERROR, text),
        Activity(text),
    ]


def text_of(strips: list[Strip]) -> str:
    return "\n".join(strip.text.rstrip() for strip in strips)


@pytest.mark.parametrize("text", MARKUP)
def test_D01_markup_is_literal_in_every_block_and_links_nothing(text: str, draw: Draw):
    for block in everywhere(text):
        if not isinstance(block, Answer):
            assert text in text_of(draw(block))
    for strip in draw(*everywhere(text)):
        assert not any(segment.style and (segment.style.link or segment.style.meta) for segment in strip)


@pytest.mark.parametrize("text", PATHS)
def test_D02_paths_that_look_like_tags_are_literal_in_output(text: str, draw: Draw):
    assert text in text_of(draw(ToolCard("c", "terminal", "ls", CardState.OK, output=f"{text}\n")))
    assert text in text_of(draw(Answer(f"```\n{text}\n```")))


@pytest.mark.parametrize("text", CONTROLS, ids=ascii)
def test_D06_nothing_in_a_block_reaches_the_terminal_as_a_control(text: str, draw: Draw):
    for strip in draw(*everywhere(text), *everywhere(text), expanded=range(11)):
        for char in strip.text:
            assert unicodedata.category(char) != "Cc"


def test_D06_colours_and_cursor_moves_leave_the_words_of_the_output(draw: Draw):
    output = "\x1b[31mred\x1b[0m\n\x1b[2J\x1b[Hhome\n\x1b[?1049lstay\n"
    drawn = text_of(draw(ToolCard("c", "terminal", "x", CardState.OK, output=output)))
    assert drawn.split("\n")[2:] == ["  │ red", "  │ home", "  │ stay"]


def test_D05_progress_shows_its_last_frame(draw: Draw):
    output = "".join(f"\rProgress {n}%" for n in range(101)) + "\nDone\n"
    assert "│ Progress 100%\n  │ Done" in text_of(
        draw(ToolCard("c", "terminal", "x", CardState.RUNNING, output=output))
    )


def test_D07_a_link_shows_its_target_and_no_escape_survives(draw: Draw):
    source = "[bank.com](http://evil) and \x1b]8;;http://evil\x07bank.com\x1b]8;;\x07 \x1b]52;c;cHduZWQ=\x07 &#x1b;[2J [x](javascript:alert)"
    drawn = text_of(draw(Answer(source)))
    assert "bank.com (http://evil)" in drawn
    assert "\x1b" not in drawn
    assert "[x](javascript:alert)" in drawn


@pytest.mark.parametrize("cells", [6, 20, 33, 80])
@pytest.mark.parametrize("text", WIDE)
def test_D08_rows_with_wide_and_combined_characters_are_as_wide_as_the_screen(text: str, cells: int, draw: Draw):
    for strip in draw(*everywhere(f"{text} " * 12), *everywhere(text * 30), cells=cells, expanded=range(11)):
        assert sum(cell_len(segment.text) for segment in strip) == cells


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=120), cells=st.integers(1, 50))
def test_D11_any_text_at_any_width_fills_its_rows(text: str, cells: int, draw: Draw):
    for strip in draw(*everywhere(text), cells=cells, expanded=(6,)):
        assert strip.cell_length == cells


@pytest.mark.parametrize("text", WIDE)
def test_D08_a_break_never_falls_inside_a_visible_character(text: str):
    pieces = [piece for piece, _ in chop(text * 20, 3, 4)]
    assert "".join(pieces) == text * 20
    assert not any(unicodedata.combining(piece[0]) or piece[0] in "\u200d\ufe0f" for piece in pieces)


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        (Finish.CUT, "Cut off"),
        (Finish.LENGTH, "output limit"),
        (Finish.ERROR, "Failed"),
        (Finish.INTERRUPTED, "Interrupted"),
        (Finish.CONTENT_FILTER, "content filter"),
    ],
)
def test_an_answer_that_did_not_end_by_itself_says_so_in_words(finish: Finish, words: str, draw: Draw):
    assert words in text_of(draw(Answer("half of it", finish)))


def test_only_a_denial_is_called_denied():
    def status(approval: Approval) -> str:
        return status_of(ToolCard("c", "t", "x", CardState.NOT_RUN, approval))

    assert [approval for approval in Approval if "denied" in status(approval)] == [Approval.DENIED]


def test_D12_a_folded_card_tells_how_much_more_there_is_and_opens(draw: Draw):
    card = ToolCard("c", "terminal", "seq 100", CardState.OK, output="\n".join(map(str, range(100))))
    assert [strip.text.strip() for strip in draw(card)][2:] == [
        "│ 0",
        "│ 1",
        "│ 2",
        "│ … 95 more lines",
        "│ 98",
        "│ 99",
    ]
    assert "│ 57" in [strip.text.strip() for strip in draw(card, expanded=[0])]


def test_D12_a_huge_output_is_folded_without_reading_it_all(draw: Draw):
    card = ToolCard("c", "terminal", "x", CardState.OK, output="line\n" * 280_000 + "y" * 200_000)
    assert len(draw(card)) < 10
    assert any("more characters are kept" in strip.text for strip in draw(card, expanded=[0]))


def test_reasoning_is_folded_to_two_lines(draw: Draw):
    assert len(draw(Reasoning("thought after thought " * 100))) == 1 + 1 + 2
    assert "thought" in text_of(draw(Reasoning("thought " * 100), expanded=[0])).split("\n")[-1]
