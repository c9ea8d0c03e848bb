"""What a person typed into a search box, as what a row has to say: literally, and without a syntax to get wrong.

Each piece between spaces, and each `"exact phrase"`, must stand in a row: letters and digits as whole words, other signs
as typed, case and accents aside. The last word may be the beginning of a longer one unless a space follows it.
"""

from __future__ import annotations

import re
from unicodedata import normalize, ucd_3_2_0

from msgspec import Struct

from session.connection import legal
from session.projection import WORD_CHAR, compiled, projected
from session.snippets import Wanted, folded

MAX_CHARS = 2_048
MIN_PREFIX_CHARS = 3  # the rows with any of the words that begin with two letters are too many to be of use
CUT = f"Only the first {MAX_CHARS:,} characters were searched for."
NOTHING_ASKED = "There is nothing to search for yet."

PIECE = re.compile(r'(?<!\S)"(?P<phrase>[^"]*[^"\s][^"]*)"(?!\S)|\S+')
LAST_WORD = rf"{WORD_CHAR}+\Z"


class Piece(Struct, frozen=True):
    """One thing that a row has to say. `term` is for FTS5, "" where no part of `text` is a word to it.

    `is_literal`: the term does not say all of it, so that what the index finds is to be looked at.
    """

    text: str
    wanted: Wanted
    term: str
    is_literal: bool


class Query(Struct, frozen=True):
    """`note` says what was not searched for, and why."""

    pieces: tuple[Piece, ...]
    note: str = ""

    @property
    def expression(self) -> str:
        """For MATCH; "" where the index can't help."""
        return " ".join(piece.term for piece in self.pieces if piece.term)


def parse_query(typed: str) -> Query:
    """The pieces of any text; none of an empty one, which the note then says."""
    text = legal(typed)
    kept = text if len(text) <= MAX_CHARS else cut(text)
    pieces = dict.fromkeys((found["phrase"] or found[0], is_open_ended(kept, found)) for found in PIECE.finditer(kept))
    if not pieces:
        return Query((), NOTHING_ASKED)
    return Query(tuple(piece(*parts) for parts in pieces), "" if kept is text else CUT)


def cut(text: str) -> str:
    """The beginning of a long text, up to the end of a word."""
    start = text[:MAX_CHARS]
    whole_pieces = re.sub(r"\S+\Z", "", start)
    return whole_pieces if whole_pieces.strip() else compiled(LAST_WORD).sub("", start) or start


def is_open_ended(text: str, found: re.Match[str]) -> bool:
    """Whether a piece ends in a word that may still be being typed."""
    word = compiled(LAST_WORD).search(found[0])
    return found.end() == len(text) and word is not None and len(word[0]) >= MIN_PREFIX_CHARS


def piece(text: str, is_prefix: bool) -> Piece:
    composed = normalize("NFC", text)
    wanted = Wanted(folded(composed), is_prefix)
    # NUL would end the expression. Neither sign is part of a word.
    words = projected(text).replace('"', " ").replace("\0", " ")
    term = f'"{words}"{" *" if is_prefix else ""}' if has_word(words) else ""
    return Piece(text, wanted, term, is_literal=compiled(f"{WORD_CHAR}+").fullmatch(composed) is None)


def has_word(text: str) -> bool:
    """Whether FTS5 surely sees a word. Its tables are newer than Unicode 3.2 and older than Python's own."""
    return any(ucd_3_2_0.category(char)[0] in "LN" for char in text)
