"""The forms in which a program may be called, as data: which options it may get, and what its other words are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto

from msgspec import Struct

from agent.approvals.shell_paths import Whereabouts


class Operands(Enum):
    """What the words are that are no options."""

    NONE = auto()
    TEXT = auto()
    PATHS = auto()
    PATTERN_THEN_PATHS = auto()


class Form(Struct, frozen=True):
    """The options that keep a program to reading; whatever is not named asks.

    `switches` and `valued` are short options without and with a value; `long` are long ones without the dashes, with
    "=" behind those that take a value and "?" behind those that may. `files` are options whose value is a file to read.
    `numbered` are short options with a number written to them, or none. `joined`: long options take their value only
    behind "=".
    """

    switches: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    operands: Operands = Operands.PATHS
    most: int | None = None
    counts: bool = False  # takes -5 for -n 5
    numbered: str = ""
    joined: bool = False
    no_pattern_with: frozenset[str] = frozenset()


class Call(Struct, frozen=True):
    """The words of a call, told apart. `options` are as "-n" and "--lines", in order, with their values."""

    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


class NotThisForm(Exception):
    """The call is not of the form. The text completes "it ..."."""


def form(
    switches: str = "",
    valued: str = "",
    long: str = "",
    files: str = "",
    operands: Operands = Operands.PATHS,
    most: int | None = None,
    *,
    counts: bool = False,
    no_pattern_with: str = "",
    numbered: str = "",
    joined: bool = False,
) -> Form:
    """A form from words, as they stand in a table."""
    return Form(
        switches,
        valued,
        frozenset(long.split()),
        frozenset(files.split()),
        operands,
        most,
        counts,
        numbered,
        joined,
        frozenset(no_pattern_with.split()),
    )


_COUNT = re.compile(r"-[0-9]+")


def read_call(words: Sequence[str], allowed: Form) -> Call:
    """Tell options and operands apart, as GNU's getopt does. Raises NotThisForm for an option that is not named.

    Where a version of the program takes a value and another one does not, the words behind it shift. So no word with a
    dash in front passes as a value or as an operand: whatever the program takes it for, it is one of the options named.
    """
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            operands += (_no_option(each) for each in reversed(rest))
            break
        if word.startswith("--"):
            options.append(_long(word, rest, allowed))
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif not (allowed.counts and _COUNT.fullmatch(word)):
            options += _short(word, rest, allowed)
    return Call(tuple(options), tuple(operands))


def _long(word: str, rest: list[str], allowed: Form) -> tuple[str, str]:
    """Abbreviations are not taken: what they stand for is a matter of the version."""
    name, equals, value = word[2:].partition("=")
    if f"{name}=" in allowed.long:
        if not equals and allowed.joined:
            raise NotThisForm(f"uses --{name} without a value")
        return f"--{name}", value if equals else _value(word, rest)
    if f"{name}?" in allowed.long or (name in allowed.long and not equals):
        return f"--{name}", value
    raise NotThisForm(f"uses --{name}")


def _short(word: str, rest: list[str], allowed: Form) -> list[tuple[str, str]]:
    if word[1] in allowed.numbered and (word[2:].isdecimal() or not word[2:]):
        return [(word[:2], word[2:])]
    found: list[tuple[str, str]] = []
    for at, letter in enumerate(word[1:], start=1):
        if letter in allowed.valued:
            return [*found, (f"-{letter}", word[at + 1 :] or _value(word, rest))]
        if letter not in allowed.switches:
            raise NotThisForm(f"uses -{letter}")
        found.append((f"-{letter}", ""))
    return found


def _value(word: str, rest: list[str]) -> str:
    if not rest:
        raise NotThisForm(f"uses {word} without a value")
    return _no_option(rest.pop())


def _no_option(word: str) -> str:
    if word.startswith("-") and word != "-":
        raise NotThisForm(f"has {word} where no option stands")
    return word


def why_not_form(words: Sequence[str], allowed: Form, where: Whereabouts) -> str:
    """Why a call does not keep to reading in the workspace, "" where it does. Completes "it ..."."""
    try:
        call = read_call(words, allowed)
    except NotThisForm as error:
        return str(error)
    if allowed.most is not None and len(call.operands) > allowed.most:
        return f"has more than {allowed.most} operands" if allowed.most else "has operands"
    paths = [value for name, value in call.options if name.lstrip("-") in allowed.files]
    paths += _paths(call, allowed)
    return next((why for path in paths if (why := where.why_not(path))), "")


def _paths(call: Call, allowed: Form) -> Sequence[str]:
    match allowed.operands:
        case Operands.PATHS:
            found = call.operands
        case Operands.PATTERN_THEN_PATHS:
            found = call.operands if call.has(*allowed.no_pattern_with) else call.operands[1:]
        case _:
            return ()
    # Without a path, a program reads the folder it is in, or nothing.
    return found or (".",)
