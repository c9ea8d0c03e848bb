"""What commands hand to those behind them, as far as it is written in the line: for the floor, never for a permission."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from agent.approvals.shell_floor import finds_all
from agent.approvals.shell_seen import Seen
from agent.approvals.shell_word import UNKNOWN
from agent.approvals.shell_wrappers import SHELLS

_MOST_TOLD = 50
_DECLARES = frozenset(("export", "declare", "typeset", "local", "readonly"))
_BEGINS = frozenset(("then", "do", "else", "elif", "if", "while", "until", "time", "!", "{", "[["))


def handed_words(seen: Sequence[Seen], sources: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The last command as `xargs` makes it of what it reads, and with the variables set before it."""
    one = seen[-1]
    if any(layer.name == "xargs" for layer in one.layers[:-1]):
        for word in [word for source in sources for word in _printed(source)][:_MOST_TOLD]:
            given = tuple(each.replace("{}", word) for each in one.last.guess)
            yield given if given != one.last.guess else (*given, word)
    names = set(re.findall(r"\$\{?(\w+)", one.text))
    values = [value for other in seen[:-1] for name, value in _set_by(other) if name in names] if names else []
    for value in list(dict.fromkeys(values))[:_MOST_TOLD]:
        for layer in one.layers:
            yield tuple(part for word in layer.guess for part in _with_value(word, value))


def handed_texts(one: Seen) -> Iterator[str]:
    """The text of `bash -c 'text' name words`, with the words where it takes them."""
    for layer in one.layers:
        if layer.name not in SHELLS:
            continue
        start = next((at for at, word in enumerate(layer.guess) if at and "$" in word), len(layer.guess))
        given = layer.guess[start + 1 :]
        if given:
            yield _with_words(layer.guess[start], given)


def words_in(text: str) -> Iterator[tuple[str, ...]]:
    """The commands that a text may hold, cut where the shell cuts, outside of quotes."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n`")
    reader.whitespace = " \t"
    reader.whitespace_split = True
    reader.commenters = ""
    words: list[str] = []
    try:
        for token in reader:
            if not token.strip(";&|()\n`") or (not words and token in _BEGINS):
                yield from [tuple(words)] if words else []
                words = []
            else:
                words.append(token)
    except ValueError:  # a quote that is left open
        pass
    if words:
        yield tuple(words)


def _with_value(word: str, value: str) -> list[str]:
    """A variable that is a whole word is cut at its spaces, as where it stands outside of quotes."""
    return value.split() if word == UNKNOWN else [word.replace(UNKNOWN, value)]


def _printed(source: Sequence[str]) -> Iterator[str]:
    name = source[0].rpartition("/")[2] if source else ""
    if name == "find":
        yield from finds_all(source[1:])
    elif name in ("echo", "printf", "<<<"):
        for word in source[1:]:
            yield from (each for each in re.split(r"\s|\\[n0]", word) if each and not each.startswith("-"))


def _set_by(other: Seen) -> Iterator[tuple[str, str]]:
    guess = other.last.guess
    if other.text.startswith("for ") and guess[:1] == ("for",):
        yield from ((guess[1], value) for value in guess[2:])
        return
    declared = guess[1:] if guess[:1] and guess[0] in _DECLARES else ()
    for word in (*(each for one in other.command.assignments for each in one.guess), *declared):
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def _with_words(text: str, given: Sequence[str]) -> str:
    quoted = [shlex.quote(word) for word in given]
    for number, word in enumerate(quoted[:_MOST_TOLD]):
        text = re.sub(rf"\"\$\{{?{number}\}}?\"|\$\{{?{number}\b\}}?", lambda _, word=word: word, text)
    everything = " ".join(quoted[1:])
    return re.sub(r"\"\$\{?[@*]\}?\"|\$\{?[@*]\}?", lambda _: everything, text)
