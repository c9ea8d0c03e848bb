"""Where an edit is meant, and that it changes nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.edits import CannotEdit, Edit, edited

LINE_END = st.sampled_from(["\n", "\r\n", "\r"])
LINE = st.text(alphabet="ab \t“é日\udce9", max_size=6)


def after(text: str, old: str, new: str, **more: bool) -> str:
    return edited(text, Edit(old, new, **more)).text


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nx\r\nc\r\n"),
        ("a\rb\rc\r", "a\rB\rx\rc\r"),
        ("a\nb\r\nc\n", "a\nB\r\nx\r\nc\n"),
        ("a\r\nb\nc\r\n", "a\r\nB\nx\nc\r\n"),
        ("a\nb\nc", "a\nB\nx\nc"),
    ],
)
def test_T06_line_ends_stay_and_new_lines_end_like_the_one_before(before, expected):
    assert after(before, "a\nb\nc", "a\nB\nx\nc") == expected
    assert after(before, "b\n", "B\nx\n") == expected


def test_T06_line_ends_in_the_edit_do_not_matter():
    assert after("a\nb\n", "a\r\nb", "a\r\nB\r\nc") == "a\nB\nc\n"
    assert after("a\r\nb\r\n", "a\r\nb", "a\r\nB\r\nc") == "a\r\nB\r\nc\r\n"


def test_T06_line_ends_alone_can_be_changed_where_they_are_named():
    assert after("a\r\nb\r\n", "a\r\n", "a\n") == "a\nb\r\n"
    with pytest.raises(CannotEdit, match="line ends alone"):
        edited("a\r\nb\r\n", Edit("a\nb", "a\r\nb"))


def test_a_carriage_return_among_line_feeds_is_a_character_like_others():
    assert after("10%\r20%\nend\n", "end", "one\ntwo") == "10%\r20%\none\ntwo\n"
    assert after("10%\r20%\nend\n", "10%\r20%", "done") == "done\nend\n"


@pytest.mark.parametrize(
    ("old", "new"), [("world", "world\ntail"), ("world\n", "world\ntail\n"), ("world\n", "world\ntail")]
)
def test_T07_a_line_behind_an_unended_last_one_is_a_line_of_its_own(old, new):
    assert after("hello\nworld", old, new) == "hello\nworld\ntail"


@pytest.mark.parametrize("before", ["hello\nworld", "hello\r\nworld", "hello\nworld\n", "hello\r\nworld\r\n"])
@pytest.mark.parametrize("new", ["tail", "tail\n", "more\ntail"])
def test_T07_added_at_the_end_the_last_line_is_ended_as_before(before, new):
    line_end = "\r\n" if "\r\n" in before else "\n"
    ended = before if before.endswith("\n") else before + line_end
    lines = new.removesuffix("\n").replace("\n", line_end)
    assert after(before, "", new, is_at_end=True) == ended + lines + (line_end if before.endswith("\n") else "")


@pytest.mark.parametrize("old", ["line1", "line1\n", "line1\nline2", "line1\nline2\nline3"])
def test_T08_no_line_end_is_added_at_the_end(old):
    assert after("line1\nline2\nline3", old, old.replace("line1", "LINE")) == "LINE\nline2\nline3"


def test_T08_a_line_end_at_the_end_can_be_asked_for():
    assert after("a\nb", "b", "b\n") == "a\nb\n"


@pytest.mark.parametrize(("old", "new"), [("b\n", "b\nc\n"), ("b", "b\nc"), ("b\n", "b\nc"), ("", "c"), ("", "c\n")])
def test_T09_appended_at_the_end_of_the_file(old, new):
    assert after("a\nb\n", old, new, is_at_end=True) == "a\nb\nc\n"


def test_T09_of_repeated_lines_the_last_are_meant_with_at_end():
    twice = "x\ny\nz\n--\nx\ny\nz\n"
    assert after(twice, "x\ny\nz\n", "x\nY\nz\n", is_at_end=True) == "x\ny\nz\n--\nx\nY\nz\n"
    with pytest.raises(CannotEdit, match=r"2 times, at lines 1, 5\. .*at_end"):
        edited(twice, Edit("x\ny\nz\n", "x\nY\nz\n"))


def test_overlapping_places_are_several():
    with pytest.raises(CannotEdit, match="2 times"):
        edited("a\n\n\nb", Edit("\n\n", "\n"))
    assert after("aaaa", "aa", "b", is_for_all=True) == "bb"


def test_of_very_many_places_not_all_are_counted():
    with pytest.raises(CannotEdit, match=r"more than 1,000 times, at lines 1, 1, .* and others"):
        edited("e" * 3_000_000, Edit("e", "a"))
    assert after("e\n" * 300_000, "e", "a", is_at_end=True).endswith("e\na\n")


def test_every_place_only_if_asked_for():
    done = edited("a b a", Edit("a", "c", is_for_all=True))
    assert (done.text, done.places) == ("c b c", 2)


@pytest.mark.parametrize(
    ("before", "old", "new", "expected", "tolerance"),
    [
        ("a  \nb\t\nc\n", "a\nb\n", "a\nB\n", "a  \nB\nc\n", "blanks at the ends"),
        ("\tif x:\n\t\ty\n", "if x:\n\ty\n", "if x:\n\ty\n\n\tz\n", "\tif x:\n\t\ty\n\n\t\tz\n", "indentation"),
        ("  a\n    b\n", "    a\n      b", "    a\n      c\n      d", "  a\n    c\n    d\n", "indentation"),
        ("say “hi” — now\n", 'say "hi" - now', 'say "hi" - then', "say “hi” — then\n", "typographic"),
        ("it’s\nhis\n", "it's\nhis", "it's\nhers", "it’s\nhers\n", "typographic"),
    ],
)
def test_tolerances_are_told_and_keep_what_the_edit_repeats(before, old, new, expected, tolerance):
    done = edited(before, Edit(old, new))
    assert done.text == expected
    assert tolerance in done.tolerance


@pytest.mark.parametrize(
    ("before", "old"),
    [("a \nb\na  \nb\n", "a\nb\n"), ("  a\n    a\n", "      a"), ("“x” ”x“", '"x"')],
)
@pytest.mark.parametrize("is_for_all", [False, True])
def test_with_tolerance_more_than_one_place_is_an_error(before, old, is_for_all):
    with pytest.raises(CannotEdit, match="2 times"):
        edited(before, Edit(old, "new", is_for_all=is_for_all))


def test_as_written_wins_over_any_tolerance():
    assert after("a \na\n", "a\n", "b\n") == "a \nb\n"


def test_an_uneven_indentation_is_no_shift():
    with pytest.raises(CannotEdit, match="not found"):
        edited("  a\n   b\n", Edit("a\nb\n", "c\n"))


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        ("def one():\n    return 1\n", "def one():\n    return 2\n", "x", "1|def one():\n2|    return 1"),
        ("alpha\nthe quick brown fox\nomega\n", "the quick red fox", "x", "2|the quick brown fox"),
        ("a\nvalue = new_name\n", "value = old_name", "value = new_name", "there already, at line 2"),
        ("a\nb\n", "1|a\n2|b", "x", "line numbers"),
        ("a\n", "zzzzz", "x", "read the file again"),
    ],
)
def test_what_is_not_found_is_told_with_what_is_near(text, old, new, said):
    with pytest.raises(CannotEdit, match="not found") as caught:
        edited(text, Edit(old, new))
    assert said in str(caught.value)


def test_nothing_fits_only_an_empty_file():
    assert after("", "", "a\r\nb") == "a\r\nb"
    with pytest.raises(CannotEdit, match="at_end"):
        edited("a", Edit("", "b"))


def test_an_edit_that_changes_nothing_is_an_error():
    with pytest.raises(CannotEdit, match="the same"):
        edited("a", Edit("a", "a"))


@given(
    before=st.lists(st.tuples(LINE, LINE_END)),
    behind=st.lists(st.tuples(LINE, LINE_END)),
    inside=st.lists(st.tuples(LINE, LINE_END), max_size=3),
    last=LINE,
    new=st.text(alphabet="ab\n", max_size=8),
)
def test_T06_T08_every_byte_outside_of_the_place_is_kept(before, behind, inside, last, new):
    """For any mix of line ends, known and unknown characters, with and without a final line end."""
    front, middle, rest = ("".join(map("".join, part)) for part in (before, inside, behind))
    raw = f"{front}<<{middle}>>{rest}{last}"
    old = re.sub("\r\n|\r" if "\n" not in raw else "\r\n", "\n", f"<<{middle}>>")
    done = edited(raw, Edit(old, f"[{new}]"))
    assert done.text.startswith(front + "[")
    assert done.text.endswith("]" + rest + last)
    written = done.text[len(front) + 1 : len(done.text) - len(rest + last) - 1]
    assert re.sub("\r\n|\r", "\n", written) == new
    line_ends = set(re.findall("\r?\n" if "\n" in raw else "\r", raw)) or {"\n"}
    assert set(re.findall("\r\n|\r|\n", written)) <= line_ends


@given(lines=st.lists(st.tuples(st.sampled_from("abc"), LINE_END), min_size=2, max_size=8), data=st.data())
def test_T06_a_line_that_the_edit_repeats_keeps_its_bytes(lines, data):
    """The edit shows the whole file in LF with one line changed; each other line stays as it is, with its own end."""
    changed = data.draw(st.integers(0, len(lines) - 1))
    raw = "".join(map("".join, lines))
    has_lf = "\n" in raw
    unified = re.sub("\r\n", "\n", raw) if has_lf else raw.replace("\r", "\n")
    shown = unified.split("\n")
    news = [*shown]
    target = next(number for number, line in enumerate(shown) if line) if changed >= len(shown) - 1 else changed
    news[target] = "NEW"
    done = edited(raw, Edit(unified, "\n".join(news)))
    parts = re.split("(\r?\n)" if has_lf else "(\r)", raw)
    parts[2 * target] = "NEW"
    assert done.text == "".join(parts)
