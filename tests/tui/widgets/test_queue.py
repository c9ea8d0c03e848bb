"""What is told of waiting prompts."""

from __future__ import annotations

from rich.cells import cell_len

from tui.widgets.queue import queue_lines


def test_a_held_queue_says_how_it_goes_on():
    told = queue_lines(["next"], is_held=True, width=80).plain
    assert "1 queued" in told and "enter on an empty draft sends the next" in told and "ctrl+t" in told


def test_the_first_prompts_are_shown_a_line_each_and_the_rest_counted():
    lines = queue_lines(["a\nb", "c", "d", "e", "f"], is_held=False, width=80).plain.split("\n")
    assert [line.strip() for line in lines[1:]] == ["1 a b", "2 c", "3 d", "and 2 more"]


def test_D01_markup_in_a_queued_prompt_is_text():
    assert r"[/] [bold]x \[x] [/" in queue_lines([r"[/] [bold]x \[x] [/"], is_held=False, width=80).plain


def test_no_line_is_wider_than_the_screen():
    for width in (1, 8, 30):
        told = queue_lines(["日本語👨‍👩‍👧‍👦" * 20], is_held=True, width=width).plain
        assert all(cell_len(line) <= max(width, 11) for line in told.split("\n"))
