"""Formulas in TeX as a line of Unicode that reads aloud well. What is not known stays as it was written."""

from __future__ import annotations

import re

from tui.transcript.formula_signs import (
    ACCENTS,
    BOARD,
    BRACKETS,
    FONTS,
    LOWERED,
    NAMES,
    OPERATORS,
    RAISED,
    SIZES,
    SPACES,
    SYMBOLS,
)

MOST_CHARS = 2_000
MOST_DEPTH = 24

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s+|.", re.DOTALL)
_ONE_THING = re.compile(r"[^\W_]+[′²³]?|\([^()]*\)|√\w")
_PRODUCT = re.compile(r"(?:[^\W_]*\([^()]*\))+")


def readable(source: str) -> str:
    """The formula in Unicode, in lines where TeX breaks them; the source where it is too large or does not close."""
    if len(source) > MOST_CHARS:
        return source.strip()
    try:
        text = _Reader(source).all()
    except _Unreadable:
        return source.strip()
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


class _Unreadable(Exception):
    """Braces that do not close, or too many of them."""


class _Reader:
    """Reads a formula token by token."""

    def __init__(self, source: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(source)
        self._at = 0
        self._depth = 0

    def all(self) -> str:
        text = self._until("")
        if self._at < len(self._tokens):
            raise _Unreadable
        return text

    def _until(self, end: str) -> str:
        """What comes before this token, which is taken too."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise _Unreadable
        parts: list[str] = []
        while self._at < len(self._tokens) and self._tokens[self._at] != end:
            parts.append(self._item())
        if end and self._next() != end:
            raise _Unreadable
        self._depth -= 1
        return "".join(parts)

    def _next(self) -> str:
        if self._at == len(self._tokens):
            raise _Unreadable
        self._at += 1
        return self._tokens[self._at - 1]

    def _item(self) -> str:
        token = self._next()
        match token:
            case "{":
                return self._until("}")
            case "}":
                raise _Unreadable
            case "^":
                return _script(self._argument(), RAISED, "^")
            case "_":
                return _script(self._argument(), LOWERED, "_")
            case "&":
                return " "
            case "~":
                return " "
            case "'":
                return "′"
            case "\\\\":
                return "\n"
            case _ if token.isspace():
                return " "
            case _ if token.startswith("\\") and len(token) > 1:
                return self._command(token[1:])
            case _:
                return token

    def _argument(self) -> str:
        """A group, or the one item that stands for it."""
        while self._at < len(self._tokens) and self._tokens[self._at].isspace():
            self._at += 1
        return self._item().strip()

    def _command(self, name: str) -> str:
        if name in SYMBOLS:
            return SYMBOLS[name]
        if name in OPERATORS:
            return f" {OPERATORS[name]} "
        if name in SPACES:
            return SPACES[name]
        if name in ACCENTS:
            return _accented(self._argument(), name)
        if name in FONTS:
            return self._group()
        if name in SIZES:
            self._takes(".")  # a bracket that is not to be seen
            return ""
        return self._built(name)

    def _group(self) -> str:
        """Like an argument, with the blanks at its ends: those of a text count."""
        return self._until("}") if self._takes("{") else self._argument()

    def _takes(self, token: str) -> bool:
        is_next = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += is_next
        return is_next

    def _built(self, name: str) -> str:
        match name:
            case "frac" | "dfrac" | "tfrac" | "cfrac":
                over = self._argument()
                return f"{over if _PRODUCT.fullmatch(over) else _grouped(over)}/{_grouped(self._argument())}"
            case "binom":
                return f"({self._argument()} over {self._argument()})"
            case "sqrt":
                root = self._until("]").translate(RAISED) if self._takes("[") else ""
                return f"{root}√{_grouped(self._argument())}"
            case "mathbb":
                return "".join(BOARD.get(char, char) for char in self._argument())
            case "not":
                return f"{self._argument()}\u0338"
            case "tag":
                return f"  ({self._argument()})"
            case "begin":
                return self._environment(self._argument())
            case "end":
                raise _Unreadable
            case _ if name.isalpha():
                return name if name in NAMES else self._unknown(name)
            case _:
                return name  # an escaped sign, such as \{ or \%

    def _unknown(self, name: str) -> str:
        return f"\\{name}{{{self._until('}')}}}" if self._takes("{") else f"\\{name}"

    def _environment(self, name: str) -> str:
        body = self._until("\\end")
        if self._argument() != name:
            raise _Unreadable
        if name not in BRACKETS:
            return body
        left, right = BRACKETS[name]
        rows = (" ".join(row.split()) for row in body.split("\n"))
        return f"{left}{'; '.join(row for row in rows if row)}{right}"


def _script(text: str, table: dict[int, int], sign: str) -> str:
    compact = text.replace(" ", "")
    if compact == "∘":
        return "°"
    if compact and all(ord(char) in table for char in compact):
        return compact.translate(table)
    return sign + text if len(text) == 1 else f"{sign}({text}){' ' if sign == '_' else ''}"


def _grouped(text: str) -> str:
    """In brackets, unless it reads as one thing without."""
    return text if len(text) <= 1 or _ONE_THING.fullmatch(text) else f"({text})"


def _accented(text: str, name: str) -> str:
    return (
        text + ACCENTS[name] if len(text) == 1 else f"{name}{_grouped(text) if text.startswith('(') else f'({text})'}"
    )
