"""The marks of a whole line: of each command in it, and of what its commands hand to each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from agent.approvals.shell_handed import handed_targets, handed_texts, handed_words, words_in
from agent.approvals.shell_marks import (
    PROTECTED,
    mark_of_running,
    marks_of,
    marks_of_pipe,
    marks_of_text_run,
    marks_of_write,
)
from agent.approvals.shell_paths import Whereabouts
from agent.approvals.shell_reading import Reading, Redirection
from agent.approvals.shell_seen import Seen, guess_of
from agent.approvals.shell_verdict import Mark
from agent.approvals.shell_word import UNKNOWN
from agent.approvals.shell_wrappers import SHELLS, Layer, layers

_MOST_SOURCES = 50
_READS = ("<", "<<", "<<-", "<<<", "<&")
_DELETERS = frozenset(("rm", "shred", "unlink"))


def marks_of_command(one: Seen, where: Whereabouts) -> Iterator[Mark]:
    """From every folder that it may be in."""
    for layer in one.layers:
        for folder in where.folders:
            yield from marks_of(layer.guess, replace(where.place, cwd=folder))
    names = {layer.name for layer in one.layers}
    if names & {"xargs", "parallel", "find"} and names & _DELETERS:
        yield Mark("delete", "deletes files whose names it is handed")
    for each in one.command.redirections:
        if each.operator not in _READS:
            for target in each.target.guess:
                yield from _marks_of_target(each, target, where)
        elif each.operator == "<<<":
            yield from marks_of_pipe([("<<<", *each.target.guess)], one.last.guess)
        elif each.operator in ("<<", "<<-"):
            yield from marks_of_pipe([], one.last.guess)


def _marks_of_target(each: Redirection, target: str, where: Whereabouts) -> Iterator[Mark]:
    """`cd .git/hooks && echo x > pre-commit` writes to whatever it stands in by then."""
    for folder in where.folders:
        yield from marks_of_write(target, replace(where.place, cwd=folder))
    is_stream = each.operator == ">&" and re.fullmatch(r"[0-9]+|-", target)
    if where.is_lost and not is_stream and not target.startswith(("/", "~", UNKNOWN)):
        yield Mark(PROTECTED, f"writes to {target.replace(UNKNOWN, '…')} in a folder that cannot be told")


def marks_among(seen: Sequence[Seen]) -> Iterator[Mark]:
    """What the last command gets from the ones before: through a pipe, in its words, or as a file."""
    one = seen[-1]
    before = seen[-_MOST_SOURCES:]
    if sources := _piped_to(seen):
        for layer in one.layers:
            yield from marks_of_pipe(sources, layer.guess)
    yield from mark_of_running([other.last.guess for other in before], one.last.guess)
    if {one.last.name, one.layers[0].name} & {"eval", "source", ".", *SHELLS}:
        yield from marks_of_text_run(
            one.layers[0].name, [layer.guess for other in before for layer in _inside(other, one)]
        )


def floor_among(seen: Sequence[Seen], where: Whereabouts) -> Iterator[Mark]:
    """The floor, where the last command reaches it only by what the ones before it set or print."""
    sources = _piped_to(seen)
    for words in handed_words(seen[-_MOST_SOURCES:], sources):
        yield from _floor_of(words, where)
    for target in handed_targets(seen[-_MOST_SOURCES:]):
        yield from (mark for mark in marks_of_write(target, where.place) if mark.is_floor)
    for text in handed_texts(seen[-_MOST_SOURCES:], sources):
        yield from floor_in(text, where)


def floor_in(text: str, where: Whereabouts) -> Iterator[Mark]:
    """The floor in a text that cannot be read with certainty: by its words, wherever a command may begin."""
    for words in words_in(text):
        yield from _floor_of(words, where)


def _floor_of(words: tuple[str, ...], where: Whereabouts) -> Iterator[Mark]:
    for layer in layers(Layer(words, words)):
        for folder in where.folders:
            yield from (mark for mark in marks_of(layer.guess, replace(where.place, cwd=folder)) if mark.is_floor)


def is_bomb(reading: Reading, where: Whereabouts) -> bool:
    """Whether a function pipes into itself."""
    names = set(reading.functions)
    called = [guess_of(command)[:1] for command in reading.commands if command.fed_by is not None]
    return any(words and words[0] in names for words in called)


def _piped_to(seen: Sequence[Seen]) -> list[tuple[str, ...]]:
    """The pipeline in front of the last command, the nearest first."""
    sources: list[tuple[str, ...]] = []
    at = seen[-1].command.fed_by
    while at is not None and at < len(seen) - 1 and len(sources) < _MOST_SOURCES:
        sources += [layer.guess for layer in seen[at].layers]
        sources += [("<<<", *each.target.guess) for each in seen[at].command.redirections if each.operator == "<<<"]
        at = seen[at].command.fed_by
    return sources


def _inside(other: Seen, one: Seen) -> tuple[Layer, ...]:
    is_inside = one.command.start < other.command.start and other.command.end <= one.command.end
    return other.layers if is_inside else ()
