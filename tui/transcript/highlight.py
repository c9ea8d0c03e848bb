"""Code in colour. Imports pygments, so it is itself imported only once the first frame is out.

Code is coloured in groups that start at lines without indent. The seams depend on the code alone, so a fence that is
still growing and the same fence in one piece look equal, and a long one costs a group per frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.util import ClassNotFound
from rich.style import Style

from tui.transcript.palette import Palette
from tui.transcript.wrap import Run

GROUP_LINES = 24
"""A group has at least this many lines where a fitting seam follows, and never more than twice as many."""
PLAIN_LINE_CHARS = 1_000
"""Code with a longer line is data or minified: it is shown without colour."""

LINE = re.compile(r"[^\n]*\n|[^\n]+")

KINDS = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "name"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Heading", "keyword"),
    ("Token.Generic.Subheading", "keyword"),
)


def coloured(code: str, language: str, palette: Palette) -> list[Run]:
    """The code as runs; plain where the language is unknown."""
    lexer = _lexer(language)
    if lexer is None:
        return [(code, palette.block)]
    runs: list[Run] = []
    for group in groups(code):
        runs.extend(_runs(lexer, group, palette))
    return runs


def groups(code: str) -> Iterator[str]:
    """The code in pieces of whole lines that are coloured each for itself."""
    lines = LINE.findall(code)
    start = 0
    for index in range(len(lines)):
        if index - start >= GROUP_LINES and (index - start >= 2 * GROUP_LINES or _is_seam(lines[index])):
            yield "".join(lines[start:index])
            start = index
    yield "".join(lines[start:])


def _is_seam(line: str) -> bool:
    return line[:1].isalpha() or line[:1] in "@#_"


def _runs(lexer: Lexer, code: str, palette: Palette) -> Iterator[Run]:
    if any(len(line) > PLAIN_LINE_CHARS for line in code.split("\n")):
        yield code, palette.block
        return
    for _, kind, text in lexer.get_tokens_unprocessed(code):
        yield text, _style(kind, palette)


def _style(kind: object, palette: Palette) -> Style:
    name = _name_of(kind)
    return palette.syntax[name] if name else palette.block


@lru_cache(512)
def _name_of(kind: object) -> str:
    dotted = str(kind)
    return next((name for family, name in KINDS if dotted.startswith(family)), "")


@lru_cache(64)
def _lexer(language: str) -> Lexer | None:
    if not language:
        return None
    try:
        return find_lexer_class_by_name(language)(stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
