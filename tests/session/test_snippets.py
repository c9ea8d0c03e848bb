"""What is shown of a row that was found: a line around the match, and where the matches are in it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from unicodedata import category, normalize, ucd_3_2_0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.search_query import has_word, parse_query
from session.snippets import ELLIPSIS, SNIPPET_CHARS, Span, fold, folded, snippet


def shown(text: str, query: str) -> tuple[str, tuple[Span, ...]]:
    text = normalize("NFC", text)
    return snippet(text, folded(text), [piece.wanted for piece in parse_query(query).pieces])


def marked(text: str, query: str) -> str:
    """The snippet with brackets around each match."""
    line, spans = shown(text, query)
    for start, end in reversed(spans):
        line = f"{line[:start]}[{line[start:end]}]{line[end:]}"
    return line


@pytest.mark.parametrize(
    ("text", "query", "line"),
    [
        ("the word is word", "word", "the [word] is [word]"),
        ("wordy sword word", "word ", "wordy sword [word]"),
        ("wordy sword", "word", "[word]y sword"),
        ("one\n\n  two\tthree", '"one two" three', "[one two] [three]"),
        ("Café CAFE\u0301 cafe", "café ", "[Café] [CAFÉ] [cafe]"),
        ("明天下午三点开项目评审会议", "项目评审", "明天下午三点开[项目评审]会议"),
        ("a=b and aa=b", "a=b", "[a=b] and aa=b"),
        ("multi-agent", "agent multi-agent", "[multi-agent]"),
        ("I don’t", "don't", "I [don’t]"),
        ("<b>[x]</b> \x1b[31m", "x", "<b>[[x]]</b> \x1b[31m"),
        ("🚀🚀 go 🚀", "🚀", "[🚀][🚀] go [🚀]"),
        ("", "word", ""),
    ],
)
def test_every_match_is_marked_where_it_stands(text: str, query: str, line: str) -> None:
    assert marked(text, query) == line


def test_a_long_text_is_shown_around_the_first_match() -> None:
    line, spans = shown("before " * 100 + "match " + "after " * 100, "match")
    assert len(line) <= SNIPPET_CHARS + len(ELLIPSIS)
    assert line.startswith(ELLIPSIS + "before ") and line.endswith(ELLIPSIS)
    ((start, end),) = spans
    assert line[start:end] == "match"
    assert 20 <= start <= 45


@pytest.mark.parametrize(
    "text",
    ["x" * 5_000_000 + " word", "é " * 2_500_000 + "word", "项" * 5_000_000 + " word"],
    ids=["one word", "accents", "unspaced"],
)
def test_five_megabytes_are_no_obstacle(text: str) -> None:
    began = time.process_time()
    assert shown(text, "word")[1]
    assert time.process_time() - began < 5.0


def test_a_match_longer_than_a_snippet_is_marked_as_far_as_it_is_shown() -> None:
    line, ((start, end),) = shown("a " * 200 + "b", f'"{"a " * 150}"')
    assert (start, end) == (0, len(line) - len(ELLIPSIS))


texts = st.text(st.sampled_from("aA éÉe\u0301\n\t-=项目🚀’'_x")) | st.text()


@given(text=texts, query=texts)
def test_spans_are_apart_in_order_and_within_the_line(text: str, query: str) -> None:
    line, spans = shown(text, query)
    assert len(line) <= SNIPPET_CHARS + len(ELLIPSIS)
    offsets = [offset for span in spans for offset in span]
    assert offsets == sorted(offsets)
    assert all(start < end <= len(line) for start, end in spans)


LOOKED_AT = [*range(1, 0x3400), *range(0x3400, 0x30000, 97)]  # above, long rows of characters that are all alike


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    """What unicode61 makes of every character that it takes for a word."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(
            "CREATE VIRTUAL TABLE f USING fts5 (t, content = '', tokenize = 'unicode61 remove_diacritics 2')"
        )
        memory.execute("CREATE VIRTUAL TABLE v USING fts5vocab (f, 'instance')")
        codes = [code for code in LOOKED_AT if not 0xD800 <= code < 0xE000]
        memory.executemany("INSERT INTO f (rowid, t) VALUES (?, ?)", ((code, chr(code)) for code in codes))
        return {chr(code): token for token, code in memory.execute("SELECT term, doc FROM v")}


def test_what_counts_as_a_word_is_one_to_fts5(tokens: dict[str, str]) -> None:
    sure = [chr(code) for code in LOOKED_AT if has_word(chr(code))]
    assert len(sure) > 5_000
    assert [char for char in sure if char not in tokens] == []


def test_letters_are_folded_as_fts5_folds_them(tokens: dict[str, str]) -> None:
    others = [char for char, token in tokens.items() if ucd_3_2_0.category(char)[0] == "L" and fold(char) != token]
    # The long s is an s here and a letter of its own there; Cherokee got its small letters later.
    assert [char for char in others if char not in "ſẛǠǡ" and category(char) != "Lo"][:20] == []
