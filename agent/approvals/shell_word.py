"""What bash makes of a word: the exact texts where they are fixed by what is written, and else that they are not."""

from __future__ import annotations

import re

from msgspec import Struct

# How the unknown and the home folder stand in a word that is still being read; neither can be in a command.
UNKNOWN, HOME = "\0", "\1"

Chars = list[tuple[str, bool]]  # a character, and whether it is quoted

_MOST_EXPANSIONS, _MOST_BRACES = 200, 20
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(
    r"\\(?:(?P<same>[\\'\"?])|(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{1,2})"
    r"|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})|(?P<name>[abeEfnrtv]))"
)


class Unreadable(Exception):
    """The command cannot be read with certainty. The text completes "it ..."."""


class Word(Struct, frozen=True):
    """A word by its place in the command (bytes). `values` is None where it is not fixed by the text.

    `pattern` is a glob of `*` and `?` that stands for file names, in the notation of Python's glob. `guess` is the best
    that can be said, with NUL for what is unknown; it serves warnings, never a permission.
    """

    start: int
    end: int
    values: tuple[str, ...] | None
    guess: tuple[str, ...]
    pattern: str = ""


def word_set(text: str) -> frozenset[str]:
    """For tables: the words of a text."""
    return frozenset(text.split())


def plain_word(text: str, start: int) -> Word:
    """A word in which nothing is special."""
    return Word(start, start + len(text), (text,), (text,))


def word_of(chars: Chars, start: int, end: int, home: str) -> Word:
    """Brace expansion, then the tilde, then globs, as bash does them. `home` is "" where it is not known."""
    has_too_many = chars.count(("{", False)) > _MOST_BRACES
    expanded = None if has_too_many else _braces(chars)
    if expanded is None:
        return Word(start, end, None, (_text(chars, home),))
    if len(expanded) > 1 and _is_assignment(chars):
        # In front of a command `a={b,c}` is one setting, and behind it two words: the place of the word is not told here.
        return Word(start, end, None, tuple(_text(each, home) for each in expanded))
    told = [_tilde(each, home) for each in expanded]
    guess = tuple(_text(each or raw, home) for each, raw in zip(told, expanded, strict=True))
    if any(each is None or _is_unknown(each) or _has_class(each) for each in told) or (len(told) > 1 and [] in told):
        return Word(start, end, None, guess)
    values = tuple(_text(each or [], "") for each in told)
    if not any(_has_glob(each or []) for each in told):
        return Word(start, end, tuple(map(decoded, values)), tuple(map(decoded, guess)))
    if len(told) > 1:
        return Word(start, end, None, guess)
    return Word(start, end, None, guess, decoded(_pattern(told[0] or [])))


def decoded(text: str) -> str:
    """From one character a byte to the text those bytes are."""
    if text.isascii():
        return text
    return text.encode("latin-1").decode("utf-8", "replace")


def ansi_c(text: str) -> str:
    r"""What stands between `$'` and `'`. Raises Unreadable for `\c` and what is no escape."""
    parts: list[str] = []
    place = 0
    while (slash := text.find("\\", place)) >= 0:
        match = _ANSI.match(text, slash)
        if match is None:
            raise Unreadable("holds a quoted character that cannot be told")
        parts += (text[place:slash], _ansi_char(match))
        place = match.end()
    return "".join((*parts, text[place:]))


def _ansi_char(match: re.Match[str]) -> str:
    found = {name: value for name, value in match.groupdict().items() if value is not None}
    if same := found.get("same"):
        return same
    if name := found.get("name"):
        return _ESCAPES[name]
    code = int(found["octal"], 8) & 0xFF if "octal" in found else int(next(iter(found.values())), 16)
    if code == 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise Unreadable("holds a quoted character that cannot be told")
    if "u" in found or "U" in found:
        return chr(code).encode().decode("latin-1")
    return chr(code)


# --- braces


def _braces(chars: Chars) -> list[Chars] | None:
    """Each word that comes of `a{b,c}`; None for nested ones, sequences and what holds an unknown."""
    opened = next((at for at in range(len(chars)) if chars[at] == ("{", False)), None)
    if opened is None:
        return [chars]
    closed = next((at for at in range(opened, len(chars)) if chars[at] == ("}", False)), None)
    if closed is None:
        return [chars] if ("{", False) not in chars[opened + 1 :] else None
    inner = chars[opened + 1 : closed]
    if ("{", False) in inner or _is_sequence(inner):
        return None
    after = _braces(chars[closed + 1 :])
    if after is None:
        return None
    if (",", False) not in inner:
        # `{}` and `{x}` stay as they are; with more braces behind them it is not worth telling.
        return [chars] if len(after) == 1 and ("{", False) not in chars[closed + 1 :] else None
    if _is_unknown(chars) or len(after) * (len(inner) + 1) > _MOST_EXPANSIONS:
        return None
    return [chars[:opened] + choice + rest for choice in _choices(inner) for rest in after]


def _choices(inner: Chars) -> list[Chars]:
    choices: list[Chars] = [[]]
    for char in inner:
        if char == (",", False):
            choices.append([])
        else:
            choices[-1].append(char)
    return choices


def _is_sequence(inner: Chars) -> bool:
    return ".." in "".join(char for char, _ in inner)


# --- tildes and globs


def _tilde(chars: Chars, home: str) -> Chars | None:
    """With `~` and `~/x` told, None for the other tildes that bash would expand."""
    for at, char in enumerate(chars):
        if char == ("~", False) and at and chars[at - 1] in (("=", False), (":", False)):
            return None
    if not chars or chars[0] != ("~", False):
        return chars
    if not home or (len(chars) > 1 and chars[1] != ("/", False)):
        return None
    return [(char, True) for char in home] + chars[1:]


def _is_assignment(chars: Chars) -> bool:
    name, equals, _ = "".join(char if not quoted else "'" for char, quoted in chars).partition("=")
    return bool(equals) and name.removesuffix("+").isidentifier()


def _is_unknown(chars: Chars) -> bool:
    return any(char in (UNKNOWN, HOME) for char, _ in chars)


def _has_glob(chars: Chars) -> bool:
    return ("*", False) in chars or ("?", False) in chars


def _has_class(chars: Chars) -> bool:
    """Whether there is a `[a-z]`, whose meaning is a matter of the locale."""
    return ("[", False) in chars and ("]", False) in chars[chars.index(("[", False)) :]


def _pattern(chars: Chars) -> str:
    return "".join(f"[{char}]" if char in "*?[" and (quoted or char == "[") else char for char, quoted in chars)


def _text(chars: Chars, home: str) -> str:
    return "".join(char for char, _ in chars).replace(HOME, home or UNKNOWN)
