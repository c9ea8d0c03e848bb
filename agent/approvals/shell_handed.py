"""What commands hand to those behind them, as far as it is written in the line: for the floor, never for a permission."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from agent.approvals.shell_floor import finds_all
from agent.approvals.shell_seen import Seen
from agent.approvals.shell_word import UNKNOWN
from agent.approvals.shell_wrappers import SHELLS
from agent.approvals.shell_writes import valued

MOST_TOLD = 50
_RUN_TEXTS = frozenset(("su", "runuser", "flock", "script", "sg"))
_RUNNERS = SHELLS | {"source", ".", "eval"}
_HANDERS = _RUNNERS | _RUN_TEXTS | {"parallel"}
_DECLARES = frozenset(("export", "declare", "typeset", "local", "readonly"))
_BEGINS = frozenset(("then", "do", "else", "elif", "if", "while", "until", "time", "!", "{", "[["))


def handed_words(seen: Sequence[Seen], sources: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The last command as `xargs` makes it of what it reads, and with the variables set before it."""
    one = seen[-1]
    if any(layer.name == "xargs" for layer in one.layers[:-1]):
        for word in [word for source in sources for word in _printed(source)][:MOST_TOLD]:
            given = tuple(each.replace("{}", word) for each in one.last.guess)
            yield given if given != one.last.guess else (*given, word)
    for value in _values(seen):
        for layer in one.layers:
            yield tuple(part for word in layer.guess for part in _with_value(word, value))


def handed_texts(seen: Sequence[Seen], sources: Sequence[Sequence[str]]) -> Iterator[str]:
    """What the last command makes a shell run: what it is handed as a text, with its words, and what it reads."""
    one = seen[-1]
    if _HANDERS.isdisjoint([layer.name for layer in one.layers]):
        return
    yield from (text for source in _read_by_shell(one, sources) for text in _written(source))
    if _reads_commands(one) and any(each.operator in ("<<", "<<-") for each in one.command.redirections):
        yield one.text
    if _RUNNERS & {layer.name for layer in one.layers}:
        yield from (text for other in seen[:-1] if _holds(one, other) for text in _written(other.last.guess))
    for layer in one.layers:
        if layer.name in _RUN_TEXTS:
            yield from valued(layer.guess[1:], "c", "--command")
        if layer.name == "parallel":
            yield from _paralleled(layer.guess[1:])
        if layer.name not in SHELLS:
            continue
        start = next((at for at, word in enumerate(layer.guess) if at and "$" in word), len(layer.guess))
        given = layer.guess[start + 1 :]
        if given:
            yield _with_words(layer.guess[start], given)


def _read_by_shell(one: Seen, sources: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    if not _reads_commands(one):
        return []
    return [*sources, *(("<<<", *each.target.guess) for each in one.command.redirections if each.operator == "<<<")]


def _reads_commands(one: Seen) -> bool:
    """Whether it is a shell that is given no script of its own."""
    words = next((layer.guess for layer in one.layers if layer.name in SHELLS), ())
    is_file = any(word[:1] not in ("-", "+") and words[at][-1:] not in ("o", "O") for at, word in enumerate(words[1:]))
    return bool(words) and (not is_file or "-s" in words)


def _holds(other: Seen, one: Seen) -> bool:
    """Whether a command stands in the `<(…)` or `$(…)` of another one."""
    return other.command.start < one.command.start and one.command.end <= other.command.end


def _written(source: Sequence[str]) -> Iterator[str]:
    """What an `echo` or a `printf` writes, as one text; with what its escapes may be."""
    name = source[0].rpartition("/")[2] if source else ""
    if name in ("echo", "printf", "<<<"):
        text = " ".join(word for word in source[1:] if not re.fullmatch(r"-[neE]+", word))
        yield text.replace("\\n", "\n").replace("%s", " ")


def _paralleled(words: Sequence[str]) -> Iterator[str]:
    end = next((at for at, word in enumerate(words) if word.startswith(":::")), len(words))
    command = " ".join(words[:end])
    for word in words[end + 1 :][:MOST_TOLD]:
        yield command.replace("{}", word) if "{}" in command else f"{command} {word}"


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


def handed_targets(seen: Sequence[Seen]) -> Iterator[str]:
    """Where the last command writes to, by the variables set before it."""
    for target in (word for each in seen[-1].command.redirections for word in each.target.guess if UNKNOWN in word):
        for value in _values(seen):
            yield target.replace(UNKNOWN, value)


def _values(seen: Sequence[Seen]) -> list[str]:
    """What the variables that the last command names were set to."""
    if "$" not in seen[-1].text:
        return []
    names = set(re.findall(r"\$\{?(\w+)", seen[-1].text))
    values = [value for other in seen[:-1] for name, value in _set_by(other) if name in names] if names else []
    return list(dict.fromkeys(values))[:MOST_TOLD]


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
    for number, word in enumerate(quoted[:MOST_TOLD]):
        text = re.sub(rf"\"\$\{{?{number}\}}?\"|\$\{{?{number}\b\}}?", lambda _, word=word: word, text)
    everything = " ".join(quoted[1:])
    return re.sub(r"\"\$\{?[@*]\}?\"|\$\{?[@*]\}?", lambda _: everything, text)
