"""A title from the first thing that was said, and what becomes of one that a person or a model wrote."""

from __future__ import annotations

import unicodedata

DERIVED_CHARS = 60
MAX_CHARS = 100
UNTITLED = "Untitled"
ELLIPSIS = "…"

# What joins the character before it, besides the marks of category M.
ZERO_WIDTH_JOINER = "\u200d"
SKIN_TONES = range(0x1F3FB, 0x1F400)
TAGS = range(0xE0020, 0xE0080)  # spell the region of a flag, as in England's
HANGUL_VOWELS_AND_FINALS = range(0x1160, 0x1200)

BLACK_FLAG = "\U0001f3f4"
REGIONAL_INDICATORS = range(0x1F1E6, 0x1F200)
BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"  # letters by category, but nothing is seen of them


def derive_title(text: str) -> str:
    """At most `DERIVED_CHARS` characters on one line, cut between graphemes; `UNTITLED` where nothing visible was said."""
    return clean_title(text, DERIVED_CHARS) or UNTITLED


def clean_title(text: str, max_chars: int = MAX_CHARS) -> str:
    """One visible line of at most `max_chars` characters, cut between graphemes; "" where nothing can be seen."""
    # A pasted megabyte is not walked through for its first line.
    start = text.lstrip()[: max_chars * 50]
    line = without_strays("".join(map(shown, start)))
    return cut(" ".join(line.split()), max_chars)


def shown(char: str) -> str:
    """The character; a space for what separates; nothing for controls, bidi marks and others that are not seen."""
    if char == ZERO_WIDTH_JOINER or ord(char) in TAGS:
        return char
    if char.isspace():
        return " "
    is_hidden = unicodedata.category(char) in ("Cc", "Cf", "Cs") or char in BLANK_LETTERS
    return "" if is_hidden else char


def without_strays(line: str) -> str:
    """Drop what joins nothing: joiners not between two pictures, tags not after a flag, marks without a base."""
    kept: list[str] = []
    base = ""
    for char, following in zip(line, [*line[1:], ""], strict=False):
        if extends(char) and not may_join(base, char, following):
            continue
        if char == " " and not kept:  # it goes in the end, and what would stand on it would be a stray next time
            continue
        kept.append(char)
        base = base if extends(char) else char
    return "".join(kept)


def may_join(base: str, char: str, following: str) -> bool:
    if char == ZERO_WIDTH_JOINER:
        return is_picture(base) and is_picture(following)
    if ord(char) in TAGS:
        return base == BLACK_FLAG
    return base != ""


def is_picture(char: str) -> bool:
    # "Cn": an emoji newer than this Python's Unicode tables. "Sm": arrows, which some emoji end with.
    return char != "" and unicodedata.category(char) in ("So", "Sm", "Cn")


def cut(line: str, max_chars: int) -> str:
    if len(line) <= max_chars:
        return line
    kept = ""
    for grapheme in graphemes(line):
        if len(kept) + len(grapheme) > max_chars - len(ELLIPSIS):
            break
        kept += grapheme
    return kept.rstrip() + ELLIPSIS


def graphemes(line: str) -> list[str]:
    """The line in pieces that a person sees as one character each."""
    pieces: list[str] = []
    for char in line:
        if pieces and joins(pieces[-1], char):
            pieces[-1] += char
        else:
            pieces.append(char)
    return pieces


def joins(piece: str, char: str) -> bool:
    """Whether `char` belongs to the grapheme `piece` that stands before it."""
    if extends(char) or piece.endswith(ZERO_WIDTH_JOINER):
        return True
    return ord(char) in REGIONAL_INDICATORS and len(piece) == 1 and ord(piece) in REGIONAL_INDICATORS


def extends(char: str) -> bool:
    code = ord(char)
    return (
        char == ZERO_WIDTH_JOINER
        or code in SKIN_TONES
        or code in TAGS
        or code in HANGUL_VOWELS_AND_FINALS
        or unicodedata.category(char).startswith("M")
    )
