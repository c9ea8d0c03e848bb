"""A title is one short visible line, cut only where a person sees a boundary."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.titles import DERIVED_CHARS, clean_title, derive_title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("fix the tests", "fix the tests"),
        ("  fix\n\tthe \u2028 tests\r\n", "fix the tests"),
        ("\x1b[31mred\x1b[0m\x07", "[31mred[0m"),
        ("pay \u202egnp.exe\u202c now\u200b\ufeff", "pay gnp.exe now"),
        ("a\u200db", "ab"),
        ("\ud800half", "half"),
        ("[bold]not markup[/]", "[bold]not markup[/]"),
        ("👩🏽‍🚀 launch ❤️‍🔥", "👩🏽‍🚀 launch ❤️‍🔥"),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿 flag", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 flag"),
        ("hidden \U000e0041\U000e0042 tags", "hidden tags"),
        ("Grüße, cafe\u0301", "Grüße, cafe\u0301"),
        ("", "Untitled"),
        (" \n\u200b\u202e\u2060\ufe0f\u3164", "Untitled"),
    ],
)
def test_a_title_is_what_is_seen(text: str, title: str) -> None:
    assert derive_title(text) == title


@pytest.mark.parametrize(
    "grapheme",
    ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "e\u0301", "❤️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\u1112\u1161\u11ab", "नि"],
    ids=["family", "skin tone", "flag", "accent", "variation", "keycap", "tags", "jamo", "vowel sign"],
)
@pytest.mark.parametrize("offset", range(14))
def test_a_cut_never_falls_inside_a_grapheme(grapheme: str, offset: int) -> None:
    title = derive_title("x" * offset + grapheme * DERIVED_CHARS)
    kept = title.removesuffix("…")[offset:]
    assert kept == grapheme * (len(kept) // len(grapheme))
    assert kept
    assert len(title) <= DERIVED_CHARS
    assert title.endswith("…")


def test_sixty_characters_are_not_cut() -> None:
    assert derive_title("x" * 60) == "x" * 60
    assert derive_title("x" * 61) == "x" * 59 + "…"


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_a_title_is_always_short_visible_and_on_one_line(text: str) -> None:
    title = derive_title(text)
    assert 0 < len(title) <= DERIVED_CHARS
    assert len(title.splitlines()) == 1
    assert title == title.strip()
    hidden = {char for char in title if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden <= {"\u200d", *map(chr, range(0xE0020, 0xE0080))}
    title.encode()


@given(
    st.text(
        st.sampled_from("\x1b\r 🏽\u0301\u200d👩🚀ab\U000e0041🏴🇩\u1161\u3164") | st.characters(exclude_categories=[])
    )
)
def test_a_title_that_is_cleaned_again_is_the_same(text: str) -> None:
    """An export that is imported runs its titles through here once more."""
    title = clean_title(text)
    assert clean_title(title) == title
    assert clean_title(f"{title} #2") == f"{title} #2".strip()
