"""What the floor is about, done to what nobody can know beforehand: `rm -rf "$x"`, `… | xargs rm -rf`, `dd of=$d`.

It may be the system or the home, and what it is cannot be shown, so that it is asked about in every mode.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from agent.approvals.shell_floor import is_device, is_essential, is_recursive_call
from agent.approvals.shell_handed import MOST_TOLD, words_in
from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_reading import Command, Reading
from agent.approvals.shell_seen import Seen, guess_of
from agent.approvals.shell_word import UNKNOWN, word_set
from agent.approvals.shell_wrappers import Layer, layers

_MOST_FORMS = 50
_UNTOLD = re.compile(rf"[$`{UNKNOWN}]|^~[+-]")
_PLAIN_VALUE = re.compile(r"\$(?:(\w+|[@*])|\{(\w+|[@*])\})")
_QUOTED = re.compile(r'"[^"`]*"|[^$`]*')
_SETTERS = word_set("read mapfile readarray getopts let source . eval unset shift local")
_DECLARES = word_set("export declare typeset readonly")
_OWNERS = word_set("chmod chown chgrp")
_DD_HARMLESS = ("if=", "bs=", "count=", "skip=", "seek=", "conv=", "status=", "ibs=", "obs=")
_XARGS_VALUED, _XARGS_PLAIN = word_set("-n -P -L"), re.compile(r"-[0rt]+|--null|--no-run-if-empty|-[nPL][0-9]+")
_ECHOED = re.compile(r"(?!-)(?:[^\0\\'\"%]|\\n|\\0|%s)*")
_FIND_PRINTS = word_set("-printf -exec -execdir -ok -okdir -ls -fprint -fprintf -fls")


class Surroundings(Struct, frozen=True):
    """What is known of the words of a line from outside of it. `has_holes`: parts of its text are missing.

    `is_given`: its `$1` are words that were judged. `is_inner`: it is a text in a command.
    """

    has_holes: bool = False
    is_given: bool = False
    is_inner: bool = False


def around_text(one: Seen, outer: Surroundings) -> Surroundings:
    """What is known in a text that a command hands to a shell."""
    is_handed = any(_name(layer) in ("xargs", "parallel", "find") for layer in one.layers)
    settings = [each for word in one.command.assignments for each in word.guess]
    words = [word for layer in one.layers for word in layer.guess]
    is_moved = any(word.startswith("HOME=") for word in (*settings, *words))
    has_holes = is_handed or is_moved or any(UNKNOWN in word for word in words)
    names = [_name(layer) for layer in one.layers]
    is_given = "eval" not in names or outer.is_given
    return Surroundings(outer.has_holes or has_holes, is_given and not one.last.is_open, is_inner=True)


def why_unseen(
    seen: Sequence[Seen], reading: Reading, variables: Variables, where: Whereabouts, around: Surroundings
) -> str:
    """Why the last command is asked about in every mode, "" for what is not of this kind. Completes "it ..."."""
    one = seen[-1]
    targets = [word for each in one.command.redirections if each.operator != "<" for word in each.target.guess]
    if any(word.startswith("/dev/") and UNKNOWN in word for word in targets):
        return "writes to a device that nobody knows beforehand"
    if not any(_is_this_kind(layer) for layer in one.layers):
        return ""
    written = " ".join(reading.text(word.start, word.end) for word in one.command.words)
    if variables.has_new_home and re.search("~|HOME", written):
        around = replace(around, has_holes=True)
    forms = None if around.has_holes else _forms(one, written, lambda name: variables.may_be(name, where))
    if forms is None:
        is_loose = not all(_QUOTED.fullmatch(reading.text(word.start, word.end)) for word in one.command.words)
        return _why_not_known(
            one.layers, seen, where, is_loose=is_loose or around.has_holes, has_holes=around.has_holes
        )
    told = (_why_not_known(layers(Layer(form, form)), seen, where, is_loose=False, has_holes=False) for form in forms)
    return next(filter(None, told), "")


def why_unseen_in(text: str, where: Whereabouts) -> str:
    """The same for a text that cannot be read with certainty."""
    for words in words_in(text):
        guess = tuple(UNKNOWN if "$" in word or "`" in word else word for word in words)
        if why := _why_not_known(layers(Layer(guess, guess)), (), where, is_loose=True, has_holes=False):
            return why
    return ""


def _is_this_kind(layer: Layer) -> bool:
    name = _name(layer)
    return name in ("rm", "dd", "find") or name in _OWNERS or UNKNOWN in name


def _name(layer: Layer) -> str:
    return layer.guess[0].rpartition("/")[2] if layer.guess else ""


# --- what the words are


def _forms(one: Seen, written: str, may_be: Callable[[str], list[str]]) -> list[tuple[str, ...]] | None:
    """The command with each value that its variables may have; None where that cannot be told."""
    guess = one.layers[0].guess
    holes = sum(word.count(UNKNOWN) for word in guess)
    if not holes:
        return [guess]
    names = [name for match in _PLAIN_VALUE.finditer(written) if (name := match[1] or match[2]) != "HOME"]
    if len(names) != holes:
        return None
    told = [list(dict.fromkeys(may_be(name))) for name in names]
    if not all(told) or math.prod(map(len, told)) > _MOST_FORMS:
        return None
    choices = list(product(*told))
    return [form for choice in choices for form in _filled(guess, choice)]


def _filled(guess: Sequence[str], choice: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """As one word each, and cut at the spaces, as outside of quotes."""
    rest = list(choice)[::-1]
    whole = [re.sub(UNKNOWN, lambda _: rest.pop(), word) for word in guess]
    yield tuple(whole)
    if any(" " in value or "\n" in value or not value for value in choice):
        yield tuple(part for word, filled in zip(guess, whole, strict=True) for part in _cut(word, filled))


def _cut(word: str, filled: str) -> list[str]:
    return filled.split() if UNKNOWN in word else [filled]


class Variables:
    """What each variable of a line may be, wherever the line sets it."""

    def __init__(self, reading: Reading, around: Surroundings) -> None:
        self._reading, self._around = reading, around

    def may_be(self, name: str, where: Whereabouts) -> list[str]:
        """[] for what cannot be told."""
        if self._own is None:
            return []
        if name in self._own:
            return self._own[name]
        if name in ("@", "*") or name.isdecimal():
            return ["given"] if self._around.is_given else []
        if self._around.is_inner:
            return []
        if name == "PWD":
            return [] if where.is_lost else [str(folder) for folder in where.folders]
        return [value] if (value := where.place.environ.get(name)) else []

    @cached_property
    def has_new_home(self) -> bool:
        """Whether the line changes what `~` is."""
        return any(
            name.rstrip("+") == "HOME" for each in self._reading.commands for name, _ in _set_by(each, self._reading)
        )

    @cached_property
    def _own(self) -> dict[str, list[str]] | None:
        """None where the line sets variables in ways that are not told."""
        if self._reading.oddities:
            return None
        own: dict[str, list[str]] = {}
        for command in self._reading.commands:
            if _sets_unseen(guess_of(command)):
                return None
            for name, value in _set_by(command, self._reading):
                if name.endswith("+") or name in ("IFS", "HOME", "PWD"):
                    return None
                own.setdefault(name, []).append(value)
        return {name: [] if any(UNKNOWN in value for value in told) else told for name, told in own.items()}


def _sets_unseen(guess: Sequence[str]) -> bool:
    if not guess:
        return False
    if guess[0] in _DECLARES and any(re.fullmatch(r"-[a-zA-Z]*[^xrgp-][a-zA-Z]*", word) for word in guess[1:]):
        return True
    if guess[0] == "set" and not all(re.fullmatch(r"[-+][a-z]+|[a-z]+", word) for word in guess[1:]):
        return True
    return UNKNOWN in guess[0] or guess[0] in _SETTERS or guess[:2] == ("printf", "-v")


def _set_by(command: Command, reading: Reading) -> Iterator[tuple[str, str]]:
    """A setting may be one that is not reached, so that the variable is empty: `rm -rf "$x"/*` is `rm -rf /*` then."""
    guess = guess_of(command)
    if guess[:1] == ("for",) and reading.source.startswith("for", command.start):
        yield from ((guess[1], value) for value in guess[2:])
        return
    settings = () if guess else (each for word in command.assignments for each in word.guess)
    for word in (*settings, *(guess[1:] if guess[:1] and guess[0] in _DECLARES else ())):
        name, equals, value = word.partition("=")
        if equals:
            yield from ((name, value), (name, ""))


# --- what is done to them


def _why_not_known(
    told: Sequence[Layer], seen: Sequence[Seen], where: Whereabouts, *, is_loose: bool, has_holes: bool
) -> str:
    """`is_loose`: a word that is not known may be several, and options among them."""
    found = next((layer for layer in told if _name(layer) == "find"), None)
    for layer in told:
        name, words = _name(layer), layer.guess[1:]
        why = _why_not_layer(name, words, where, is_loose=is_loose)
        if not why and name in {"rm", "dd", *_OWNERS} and layer.is_open:
            is_safe = _finds_below(found.guess[1:], where) if found else _is_handed(told, layer, seen, where)
            why = "" if is_safe else f"runs {name} on what it is handed, which nobody knows beforehand"
        if not why and has_holes and name in ("rm", "dd", *_OWNERS):
            why = f"runs {name} in a text that is not fixed"
        if why:
            return why
    return ""


def _why_not_layer(name: str, words: Sequence[str], where: Whereabouts, *, is_loose: bool) -> str:
    has_holes = any(_UNTOLD.search(word) for word in words)
    targets = [word for word in words if word and not word.startswith("-")]
    if UNKNOWN in name:
        is_wide = any(_is_wide(word, where) for word in targets)
        return "runs an unknown command on the system or the home folder" if is_wide else ""
    if name == "rm" and has_holes and (is_loose or is_recursive_call(words)):
        return "deletes what nobody knows beforehand"
    if name == "rm" and is_recursive_call(words) and where.is_astray and any(word[0] not in "/~" for word in targets):
        return "deletes in a folder that nobody knows beforehand"
    if name == "rm" and is_recursive_call(words) and any(_is_wide(word, where) for word in targets):
        return "deletes the system or the home folder"
    if name in _OWNERS and has_holes and (is_loose or is_recursive_call(words, "R")):
        return "changes who may use what nobody knows beforehand"
    if name in _OWNERS and is_recursive_call(words, "R") and any(_is_wide(word, where) for word in targets):
        return "changes who may use the system or the home folder"
    dangers = [word for word in words if name == "dd" and not word.startswith(_DD_HARMLESS)]
    if any(_UNTOLD.search(word) or is_device(word.removeprefix("of="), where.place) for word in dangers):
        return "copies raw data to what nobody knows beforehand"
    if name == "find" and "-delete" in words and any(UNKNOWN in start for start in _starts(words)):
        return "deletes in what nobody knows beforehand"
    return ""


def _is_wide(word: str, where: Whereabouts) -> bool:
    return any(
        is_essential(word, replace(where.place, cwd=folder)) or is_device(word, where.place) for folder in where.folders
    )


def _starts(words: Sequence[str]) -> list[str]:
    end = next((at for at, word in enumerate(words) if re.match(r"-[a-zA-Z]{2}|[(!,]", word)), len(words))
    return [word for word in words[:end] if not word.startswith("-")] or ["."]


def _finds_below(words: Sequence[str], where: Whereabouts) -> bool:
    """Whether a `find` begins where neither the system nor the home can be among what it comes across."""
    return not any(UNKNOWN in start or _is_wide(start, where) for start in _starts(words))


def _is_handed(told: Sequence[Layer], layer: Layer, seen: Sequence[Seen], where: Whereabouts) -> bool:
    """Whether `xargs` gets its words from an `echo` or a `find` whose own are fixed."""
    outer = next((each for each in told if _name(each) == "xargs"), None)
    at = seen[-1].command.fed_by if seen else None
    if outer is None or at is None or at >= len(seen) - 1:
        return False
    given = outer.guess[1 : len(outer.guess) - len(layer.guess)]
    is_plain = all(_XARGS_PLAIN.fullmatch(word) or word in _XARGS_VALUED or word.isdecimal() for word in given)
    if not is_plain and list(given) not in (["-I{}"], ["-I", "{}"]):
        return False
    source = seen[at].last
    if _name(source) in ("echo", "printf"):
        is_short = len(re.split(r"\s|\\[n0]", " ".join(source.guess[1:]))) <= MOST_TOLD
        return is_short and all(_ECHOED.fullmatch(word) for word in source.guess[1:])
    if _name(source) != "find" or _FIND_PRINTS.intersection(source.guess) or not _finds_below(source.guess[1:], where):
        return False
    # A name such as `a /etc` is two words for xargs, unless they are told apart by NUL.
    is_parted = "-print0" in source.guess and any(re.fullmatch(r"-[rt]*0[rt0]*|--null", word) for word in given)
    return is_parted or not is_recursive_call(layer.guess[1:])
