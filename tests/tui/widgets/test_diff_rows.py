"""What a diff says of a change is true and whole, whatever the texts are."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.widgets import diff_rows
from tui.widgets.diff_rows import Row, file_diff

LINES = st.lists(st.sampled_from(["a", "b", "", "  }", "x = 1", "x = 2", "日本語🙂", "\tx", "x\r"]), max_size=30)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def counted(rows: tuple[Row, ...], side: str) -> int:
    """How many lines of a side the rows stand for; their numbers have to follow each other."""
    at = 0
    for row in rows:
        number = getattr(row, side)
        if row.gap:
            at += row.gap
        elif number:
            at += 1
            assert number == at
    return at


def lines_of(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


@given(TEXTS, TEXTS, st.sampled_from([1, 250_000]))
def test_every_line_of_both_sides_is_shown_or_counted_and_no_changed_one_is_left_out(before, after, most_pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff_rows, "_MOST_PAIRS", most_pairs)  # 1: unique lines alone hold the sides together
        diff = file_diff(before, after)
    if before == after:
        assert diff.unified == diff.split == ()
        return
    for rows in (diff.split, diff.unified):
        assert counted(rows, "old") == lines_of(before) and counted(rows, "new") == lines_of(after)
    gone = [row.old for row in diff.unified if row.old and not row.new]
    came = [row.new for row in diff.unified if row.new and not row.old]
    kept = [line for at, line in enumerate(before.splitlines(keepends=False) or [], 1) if at not in gone]
    assert len(gone) == diff.removed and len(came) == diff.added
    assert lines_of(before) - len(gone) == lines_of(after) - len(came)
    if "\r" not in before + after:
        assert kept == [line for at, line in enumerate(after.splitlines() or [], 1) if at not in came]


def test_a_small_change_of_a_large_file_shows_only_what_is_around_it():
    before = "".join(f"line {n}\n" for n in range(1_000))
    rows = file_diff(before, before.replace("line 500\n", "line 500!\n")).unified
    assert [(row.gap, row.old, row.new) for row in rows] == [
        (497, 0, 0),
        (0, 498, 498),
        (0, 499, 499),
        (0, 500, 500),
        (0, 501, 0),
        (0, 0, 501),
        (0, 502, 502),
        (0, 503, 503),
        (0, 504, 504),
        (496, 0, 0),
    ]


@pytest.mark.parametrize(
    ("before", "after", "notes", "shown"),
    [
        ("a\r\nb\r\n", "a\nb\n", ("line ends change from CR LF to LF",), [r"a\x0d", r"b\x0d", "a", "b"]),
        ("a\r\nb\r\n", "a\r\nc\r\n", ("lines end in CR LF",), ["a", "b", "c"]),
        ("", "a\r\n", ("lines end in CR LF",), ["a"]),
        ("a\n", "a", ("no line end at the end",), ["a", "a ⟨no line end⟩"]),
        ("a", "a\n", ("a line end is added at the end",), ["a ⟨no line end⟩", "a"]),
        ("a\n", "a\r\nb\n", ("line ends change from LF to CR LF and LF",), ["a", r"a\x0d", "b"]),
        ("", "a\rb\n", (), [r"a\x0db"]),
    ],
)
def test_a_change_of_line_ends_is_told_and_seen(before, after, notes, shown):
    diff = file_diff(before, after)
    assert diff.notes == notes
    assert [row.old_text or row.new_text for row in diff.unified] == shown


def test_C16_C17_what_does_not_show_or_would_act_is_spelled_out_in_a_line():
    (row,) = file_diff("", "rm \u202e /tmp/\u200bx \x1b[2K" + " " * 200 + "; y\n").unified
    assert row.new_text == r"rm \u202e /tmp/\u200bx \x1b[2K⟨200 spaces⟩; y"


def test_the_part_of_a_line_that_changed_is_marked_between_whole_characters():
    (row,) = file_diff("x = '👩🏽‍💻 one'\n", "x = '👩🏽‍🚀 one'\n").split
    assert (row.old_text[slice(*row.marked_old)], row.new_text[slice(*row.marked_new)]) == ("👩🏽‍💻", "👩🏽‍🚀")
    (row,) = file_diff("total(a, b)\n", "total(a, cc, b)\n").split
    assert row.new_text[slice(*row.marked_new)] == "cc, " and row.old_text[slice(*row.marked_old)] == ""


@pytest.mark.parametrize("kind", ["scattered", "reordered", "same lines", "one line"])
def test_a_megabyte_is_compared_without_a_square_of_work(kind: str):
    """CPU time, so that other tests beside this one do not count."""
    dice = random.Random(7)
    lines = [f"line {n} {dice.random()}" for n in range(40_000)]
    others = {
        "scattered": [line + "!" if dice.random() < 0.1 else line for line in lines],
        "reordered": dice.sample(lines, len(lines)),
        "same lines": lines,
        "one line": lines,
    }[kind]
    if kind == "same lines":
        lines, others = ["}"] * 300_000, ["}"] * 150_000 + ["{"] * 10 + ["}"] * 200_000
    end = " " if kind == "one line" else "\n"
    began = time.process_time()
    diff = file_diff(end.join(lines), end.join(others) + "x")
    assert diff.added and time.process_time() - began < 10
