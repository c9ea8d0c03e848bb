"""What of a text, a row or a request costs tokens.

Tokenizers first cut a text in pieces, by the same rules nearly everywhere: a word with the space before it, up to three
digits, a few marks, what stands at the beginning of a line. So these are counted, not characters. Prose, code, JSON, logs,
hexadecimal and base64 differ in how much of each they have, and a text that is a bit of all needs no sorting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import add, sub
from typing import cast

from msgspec import Struct
from msgspec.structs import astuple

from agent.images import sendable
from agent.request import legal_arguments
from session.json_columns import decode_parts
from session.models import Message, Role


class Features(Struct, frozen=True, omit_defaults=True):
    """Amounts that a weight turns into tokens; of ASCII text by what it is made of, of other text by its size."""

    words: int = 0  # within names, too: snake_case and camelCase are two each
    letters: int = 0
    capitals: int = 0
    digits: int = 0  # groups of up to three
    marks: int = 0  # characters, and their runs
    lines: int = 0  # breaks and tabs
    indents: int = 0  # two spaces or more
    cjk: int = 0  # characters
    cyrillic: int = 0  # UTF-8 bytes
    other: int = 0  # UTF-8 bytes of other scripts, and of signs
    tools: int = 0  # characters of their definitions
    messages: int = 0  # and calls
    images: int = 0

    def __add__(self, other: Features) -> Features:
        return Features(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Features) -> Features:
        return Features(*map(sub, astuple(self), astuple(other)))


NONE = Features()

# A text that is longer is judged by slices of it: otherwise a pasted file of many megabytes would hold up the screen.
MOST_CHARS = 100_000
_SLICES = 50


def of_text(text: str) -> Features:
    if len(text) <= MOST_CHARS:
        return _counted(text)
    starts = range(0, len(text), len(text) // _SLICES)
    sample = "".join(text[start : start + MOST_CHARS // _SLICES] for start in starts)
    amounts = astuple(_counted(sample))
    return Features(*(amount * len(text) // len(sample) for amount in amounts))


def of_row(row: Message, *, with_thinking: bool = False) -> Features:
    """What a row adds to a request; nothing for a notice. An encrypted blob costs nothing: only a reading prices it."""
    if row.is_damaged:
        return NONE
    match row.role:
        case Role.USER:
            return _asked(row)
        case Role.ASSISTANT:
            return _answered(row, with_thinking)
        case Role.TOOL:
            return Features(messages=1) + of_text(row.sent or row.content)
        case Role.NOTICE:
            return NONE


def of_tools(definitions: Sequence[Mapping[str, object]]) -> Features:
    return Features(tools=sum(map(_definition_chars, definitions)))


# --- rows


def _asked(row: Message) -> Features:
    if not row.parts:
        return Features(messages=1) + of_text(row.sent or row.content)
    parts = [sendable(part) for part in decode_parts(row.parts)]
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    text = row.sent or "\n".join(texts)
    return Features(messages=1, images=len(parts) - len(texts)) + of_text(text)


def _answered(row: Message, with_thinking: bool) -> Features:
    text = row.sent or row.content or row.refusal
    if not row.calls and not text:
        return NONE
    said = Features(messages=1 + len(row.calls)) + of_text(text)
    for call in row.calls:
        said += of_text(f"{call.name} {legal_arguments(call.arguments)}")
    return said + of_text(row.reasoning) if with_thinking else said


def _definition_chars(definition: Mapping[str, object]) -> int:
    inner = definition.get("function")
    told = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else definition
    parameters = json.dumps(told.get("parameters", {}), ensure_ascii=False, separators=(",", ":"))
    return len(str(told.get("name", ""))) + len(str(told.get("description", ""))) + len(parameters)


# --- text

# A rule across the page is a token or two, however long.
_RULES = tuple(mark * 16 for mark in (b"-", b"=", b"*", b"#", b"_", b"~", b"."))
# Bytes with which UTF-8 begins what lies between U+3000 and U+D7FF: kana, ideographs, hangul. Full-width forms beside them.
_CJK_LEADS = range(0xE3, 0xEE)
_CYRILLIC_LEADS = range(0xD0, 0xD4)
_FULL_WIDTH = (b"\xef\xbc", b"\xef\xbd", b"\xef\xbe")


def _kind(byte: int) -> bytes:
    char = chr(byte)
    if byte >= 0x80:
        return b"c" if byte in _CJK_LEADS else b"y" if byte in _CYRILLIC_LEADS else b"x"
    if char.isalpha():
        return b"A" if char.isupper() else b"a"
    if char.isspace():
        return b" " if char == " " else b"\n"
    return b"0" if char.isdigit() else b"."


_KINDS = b"".join(map(_kind, range(256)))


def _only(kinds: bytes) -> bytes:
    """A table that makes one of some kinds, and of all others "|": runs of them begin behind one."""
    return bytes(kinds[0] if byte in kinds else ord("|") for byte in range(256))


_LETTERS, _DIGITS, _MARKS, _SPACES = _only(b"aA"), _only(b"0"), _only(b"."), _only(b" ")


def _counted(text: str) -> Features:
    """By counting bytes alone, which takes a millisecond or two for 100 kB."""
    data = text.encode("utf-8", "replace")
    for rule in _RULES:
        data = data.replace(rule, rule[:1])
    kinds = b"|" + data.translate(_KINDS)
    capitals, marks = kinds.count(b"A"), kinds.count(b".")
    cjk = 0 if text.isascii() else kinds.count(b"c") + sum(map(data.count, _FULL_WIDTH))
    cyrillic = kinds.count(b"y")
    return Features(
        words=kinds.translate(_LETTERS).count(b"|a") + kinds.count(b"aA"),
        letters=kinds.count(b"a") + capitals,
        capitals=capitals,
        digits=_threes(kinds.translate(_DIGITS)),
        marks=marks + kinds.translate(_MARKS).count(b"|."),
        lines=kinds.count(b"\n"),
        indents=kinds.translate(_SPACES).count(b"|  "),
        cjk=cjk,
        cyrillic=2 * cyrillic,
        other=kinds.count(b"x") + kinds.count(b"c") - 3 * cjk - cyrillic,
    )


def _threes(digits: bytes) -> int:
    """Groups of up to three."""
    grouped = digits.replace(b"000", b"3")
    return grouped.count(b"3") + grouped.count(b"|0") + grouped.count(b"30")
