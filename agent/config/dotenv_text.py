"""The text of a .env as python-dotenv reads it, literally, and changed one name at a time without touching the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dotenv.parser import Binding

# The patterns are compiled where they are first used: most starts need none of them.

# The parser takes any word for a name. A name is shown, and a password may stand before a `=`.
_NAME = r"(?a)[A-Za-z_][\w.-]*"

# The value as it is written, in the text of an assignment.
_WRITTEN = r"""(?sx) =[^\S\r\n]*?( "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | (?:[^\s'"][^\r\n]*?)? (?=\s+\#|\s*\Z) )"""

_EMPTY_LINES = r"(?:\s*[\r\n])?"

# Time goes by the square of the blanks in a row: a megabyte of them would take the parser half an hour.
# What stands from such a line on is left out.
_TOO_BLANK = r"[^\S\r\n]{200}"

_PLAIN = r"[A-Za-z0-9_./:@%+,=~-]*"

# A text of such lines alone means what it looks like: NAME=value, an empty line, or a comment.
_SIMPLE = rf"(?:(?:[A-Za-z_][A-Za-z0-9_]*={_PLAIN}|\#[!-~ ]{{0,199}})?\n)*"
_FOLDED = {char: f"\\{letter}" for char, letter in zip('\\"\a\b\f\n\r\t\v', '\\"abfnrtv', strict=True)}


def values(text: str) -> dict[str, str]:
    """What the text assigns; of a name that stands there twice, the last."""
    if _is_simple(text):
        return dict(_assignment(line) for line in text.split("\n") if line and line[0] != "#")
    return {name: binding.value or "" for binding in _bindings(text) if (name := _name(binding))}


def bad_lines(text: str) -> list[int]:
    """The numbers, from 1, of the lines that are nothing."""
    if _is_simple(text):
        return []
    # The parser counts the \r\n of a bad line twice.
    bad = [binding.original for binding in _bindings(text.replace("\r\n", "\n")) if _is_bad(binding)]
    return [line + len(re.findall(r"[\r\n]", _empty_lines(original))) for original, line in bad]


def ways_to_write(value: str) -> Iterator[str]:
    """The ways to write a value, the plainest first: in single quotes other programs do not act on a $ either."""
    if re.fullmatch(_PLAIN, value):
        yield value
    if value.isprintable() and "'" not in value and "\\" not in value:
        yield f"'{value}'"
    yield '"' + "".join(_FOLDED.get(char, char) for char in value) + '"'


def with_value(text: str, name: str, written: str) -> str:
    """The text with a value, as it is written, in the line that has the name, or in a new last line."""
    at = len(text)
    for binding in reversed(_bindings(text)):
        at -= len(binding.original.string)
        if _name(binding) == name and (found := re.search(_WRITTEN, binding.original.string)):
            return text[: at + found.start(1)] + written + text[at + found.end(1) :]
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end if text and not text.endswith(("\n", "\r")) else ""
    return f"{text}{gap}{name}={written}{end}"


def without(text: str, name: str) -> str:
    """The text without the lines that give the name a value."""
    bindings = _bindings(text)
    kept = [_empty_lines(of.original.string) if _name(of) == name else of.original.string for of in bindings]
    # A byte order mark that the parser takes off is in none of them.
    return text[: len(text) - sum(len(of.original.string) for of in bindings)] + "".join(kept)


# --- inside


def _is_simple(text: str) -> bool:
    """Whether the text can be read without the parser, whose import costs a start some milliseconds."""
    return re.fullmatch(_SIMPLE, text if text.endswith("\n") else f"{text}\n") is not None


def _assignment(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name, value


def _bindings(text: str) -> list[Binding]:
    """The whole text in order: assignments, comments, and lines that are neither."""
    from dotenv.parser import Binding, Original, parse_stream  # a start without a .env need not load it

    blanks = re.search(_TOO_BLANK, text)
    if blanks is None:
        return list(parse_stream(StringIO(text)))
    start = 1 + max(text.rfind("\n", 0, blanks.start()), text.rfind("\r", 0, blanks.start()))
    left_out = Original(text[start:], 1 + len(re.findall(r"[\r\n]", text[:start])))
    return [*parse_stream(StringIO(text[:start])), Binding(None, None, left_out, error=True)]


def _name(binding: Binding) -> str | None:
    """The name that is given a value there."""
    is_assignment = binding.value is not None and re.fullmatch(_NAME, binding.key or "")
    return binding.key if is_assignment else None


def _is_bad(binding: Binding) -> bool:
    return binding.error or (binding.key is not None and _name(binding) is None)


def _empty_lines(original: str) -> str:
    """The empty lines in front, which the parser puts with what follows them."""
    found = re.match(_EMPTY_LINES, original)
    return found[0] if found else ""
