"""Text that others wrote acts on no terminal and hides nothing from a person."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.literal import OutputFolder, caution, plain_output, visible

ANYTHING = st.text(st.characters(exclude_categories=()))
# Dense in what matters: the parts of sequences, joiners, blanks, look-alikes, surrogates.
TRICKY = st.text(
    st.sampled_from(
        "ab1 .-_\n\t\r\b\a\0\x1b[]P\\?;mK\x7f\x9b\x9d\x85\xa0\xad\u0430\u043e\u0444\u200b\u200c\u200d\u202e\u2028\u2066"
        "\u2800\u3164\ufe0e\ufe0f\u20e3\ud800\udc00\ue000\uffff\u0378\U0001f469\U0001f3fd\u2764\U0001f4bb\u0646\U000e0041"
    ),
    max_size=60,
)
INPUTS = ANYTHING | TRICKY
HIDING = "\u200b\u2060\ufeff\u202a\u202b\u202d\u202e\u2066\u2069\u2028\u2029\u2800\u3164\u115f\u1160\uffa0\u00ad"


def acting(text: str) -> set[str]:
    """Characters that move a cursor, hide or reorder text, or cannot be written at all."""
    controls = {
        char for char in text if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp", "Co") and char not in "\n\t"
    }
    return controls | (set(text) & set(HIDING))


@given(INPUTS)
def test_C17_no_acting_character_survives(text):
    for shown in (visible(text), visible(text, fold_blanks=True), plain_output(text)):
        assert acting(shown) == set()
        shown.encode()


@given(INPUTS)
def test_what_is_literal_already_stays(text):
    assert visible(visible(text)) == visible(text)
    folded = visible(text, fold_blanks=True)
    assert visible(folded, fold_blanks=True) == folded
    assert plain_output(plain_output(text)) == plain_output(text)


@given(st.text(st.sampled_from("abc 12 .,:;(){}[]\"'$|&<>\n\tüß日本語한글😀")))
def test_ordinary_text_is_shown_as_it_is(text):
    assert visible(text) == text
    assert caution(text) == ""


@pytest.mark.parametrize(
    ("padding", "folded"),
    [
        ("\t" * 400, "⟨400 tabs⟩"),
        (" " * 2000, "⟨2,000 spaces⟩"),
        ("\n" * 60, "⟨60 newlines⟩"),
        ("\n " * 60, "⟨60 newlines, 60 spaces⟩"),
        ("\u2800" * 400, r"⟨400 × \u2800⟩"),
        ("\u3164" * 400, r"⟨400 × \u3164⟩"),
        ("\u200b" * 400, r"⟨400 × \u200b⟩"),
        ("\u00a0" * 400, r"⟨400 × \xa0⟩"),
    ],
)
def test_C15_padding_becomes_a_count_and_the_tail_shows(padding, folded):
    shown = visible(f"ls{padding}; rm -rf d", fold_blanks=True)
    assert folded in shown
    assert shown.endswith("; rm -rf d")
    assert len(shown) < 60


@given(st.text(st.sampled_from(" \t\n\u00a0\u2003\u2800\u3164\u200b\u115f\uffa0\u00ad\v\x1f"), max_size=3000))
def test_C15_no_mixture_of_blanks_hides_the_tail(padding):
    shown = visible(f"ls{padding}; rm", fold_blanks=True)
    assert len(shown) < 450
    assert shown.count("\n") <= 3


def test_C15_the_layout_of_code_is_kept():
    code = "def f():\n\n\n    if x:\n\t\treturn  {\n        'a':            1,\n    }\n"
    assert visible(code, fold_blanks=True) == code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://safe.com/\u202e\u2066moc.live\u2069/d", r"http://safe.com/\u202e\u2066moc.live\u2069/d"),
        ("https://\u0430pple.com", r"https://\u0430pple.com"),
        ("https://\u0430\u0440\u0440.com", r"https://\u0430\u0440\u0440.com"),
        ("rm /tmp/\u200bimportant", r"rm /tmp/\u200bimportant"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("icon\ue0b0", r"icon\ue0b0"),
        ("half\ud83d", "half\ufffd"),
    ],
)
def test_C16_what_hides_or_misleads_is_spelled_out_with_a_warning(text, shown):
    assert visible(text) == shown
    assert "Careful" in caution(text)


def test_C16_an_encoded_domain_is_pointed_out():
    assert "xn--pple-43d.com" in caution("curl https://xn--pple-43d.com/x")


@pytest.mark.parametrize("text", ["Привет, мир", "файл.txt", "γεια σου", "नमस्ते क्‍ष", "می‌خواهم", "café", "日本語"])
def test_C16_other_scripts_are_no_oddity(text):
    assert visible(text) == text
    assert caution(text) == ""


@pytest.mark.parametrize("emoji", ["👨‍👩‍👧‍👦", "👩🏽‍💻", "❤️‍🔥", "⏺️", "1️⃣", "🇯🇵", "✈︎"])
def test_emoji_sequences_stay_whole(emoji):
    assert visible(emoji, fold_blanks=True) == plain_output(emoji) == emoji


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("touch P #\x1b[2K\x1b[1Gls -la", r"touch P #\x1b[2K\x1b[1Gls -la"),
        ("echo \x1b]52;c;aGk=\x07", r"echo \x1b]52;c;aGk=\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("\x08\x08\x08\x08ls", r"\x08\x08\x08\x08ls"),
    ],
)
def test_C17_escape_codes_in_a_command_are_spelled_out(text, shown):
    assert visible(text, fold_blanks=True) == shown


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("Progress 10%\rProgress 20%\rProgress 100%\nDone\n", "Progress 100%\nDone\n"),
        ("".join(f"frame {n}\r" for n in range(5000)) + "\nend", "frame 4999\nend"),
        ("a\r\nb\r\r\nc\r", "a\nb\nc"),
        ("|\b/\b-\b\\\bdone", "done"),
        ("N\bNA\bA", "NA"),
    ],
)
def test_D05_progress_is_folded_to_its_last_frame(output, kept):
    assert plain_output(output) == kept


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hx", "x"),
        ("\x1b[?1049lx", "x"),
        ("\x1b]0;t\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\bank\x1b]8;;\x1b\\", "bank"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x1b(Bx\x1b7\x1bMy", "xy"),
        ("a\x00b", r"a\x00b"),
        ("lone\x1b", "lone"),
        ("cut \x1b[38;5", "cut "),
        ("\x1b\x1b[0m[31m", "[31m"),
        ("â€\x9d mojibake", "â€\\x9d mojibake"),
        ("bell\x07", "bell"),
    ],
)
def test_D06_sequences_go_and_the_text_stays(output, kept):
    assert plain_output(output) == kept


@settings(max_examples=200)
@given(st.lists(TRICKY))
def test_folding_in_pieces_gives_the_same_as_at_once(pieces):
    folder = OutputFolder()
    assert "".join([*map(folder.feed, pieces), folder.finish()]) == plain_output("".join(pieces))


def test_folding_in_pieces_is_bounded_without_a_line_end():
    folder = OutputFolder()
    assert [folder.feed("x" * 1000) for _ in range(100)] != [""] * 100
    assert folder.finish() != "x" * 100_000


@pytest.mark.parametrize(
    "unit",
    [
        "\x1b[",
        "\x1b]",
        "\x9d",
        "\x1bP",
        "a\r",
        "\b",
        "a\b",
        "\u200d",
        "😀\u200d",
        "\u0430.",
        "xn--",
        " \t",
        "\x1b[0;",
        "é",
    ],
)
def test_hostile_text_takes_linear_time(unit):
    text = unit * (300_000 // len(unit))
    for literal in (visible, plain_output, caution, lambda t: visible(t, fold_blanks=True)):
        started = time.process_time()
        literal(text)
        assert time.process_time() - started < 0.75


@pytest.mark.parametrize("text", ["a" * 300_000, "a.-" * 100_000, "xn-" * 100_000, "\r" * 300_000 + "x"])
def test_a_long_run_of_one_kind_is_read_once_and_not_from_each_of_its_characters(text: str):
    """Else this takes hours: a command that holds a file in base64 is shown, a program writes only CR."""
    assert caution(text) == ("" if "\r" not in text else caution("\rx"))
    assert plain_output(text).endswith(text[-1])
