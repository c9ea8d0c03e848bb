"""From a command's text to the commands in it: what the grammar sees, checked against a second reading."""

from __future__ import annotations

from msgspec import Struct

from agent.approvals.shell_lexer import Lexer, Span, is_assignment
from agent.approvals.shell_word import Unreadable, Word, decoded

MOST_CHARACTERS, MOST_NODES = 128_000, 25_000


class Redirection(Struct, frozen=True):
    """`2>&1` and the like; `fd` is "" where none is written. A heredoc's target is the word that ends it."""

    at: int
    operator: str
    target: Word
    fd: str = ""


class Command(Struct, frozen=True):
    """One simple command, by places in `Reading.source`. `fed_by` is the place in the list of what it is piped from."""

    start: int
    end: int
    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    fed_by: int | None = None
    repeats: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(sorted((word.start, word.end) for word in (*self.assignments, *self.words)))


class Oddity(Struct, frozen=True):
    """A piece of the text that cannot be judged. `why` completes "Asked because it ..."."""

    start: int
    end: int
    why: str


class Reading(Struct, frozen=True):
    """All that a text runs. `source` has one character a byte; `functions` are the names it defines."""

    source: str
    commands: tuple[Command, ...]
    oddities: tuple[Oddity, ...] = ()
    functions: tuple[str, ...] = ()

    def text(self, start: int, end: int) -> str:
        return decoded(self.source[start:end])


class Words:
    """The words of a source, read where the grammar says that they stand."""

    def __init__(self, source: str, lexer: Lexer) -> None:
        self._source, self._lexer = source, lexer

    def at(self, start: int, end: int) -> Word:
        """A word that does not read as one has no fixed value."""
        if known := self._lexer.words.get((start, end)):
            return known
        fresh = Lexer(self._source, self._lexer.home)
        fresh.end = end
        try:
            word = fresh.word_at(start)
        except Unreadable:
            return self._unknown(start, end)
        return word if word.end == end else self._unknown(start, end)

    def written(self, word: Word) -> str:
        return self._source[word.start : word.end]

    def _unknown(self, start: int, end: int) -> Word:
        return Word(start, end, None, (decoded(self._source[start:end].translate(_UNQUOTED)),))


_UNQUOTED = str.maketrans("", "", "\\'\"")


def read_shell(text: str, home: str) -> Reading:
    """Raises Unreadable for what no reading is tried of: too long, or with characters that bash takes in its own way."""
    source = _source(text)
    from agent.approvals.shell_tree import read_tree

    lexer = Lexer(source, home)
    refusal = ""
    try:
        lexer.read()
    except Unreadable as error:
        refusal = str(error)
    reading = read_tree(source, Words(source, lexer))
    if not refusal and not _agrees(reading, lexer):
        refusal = "cannot be read with certainty"
    if refusal and not reading.oddities:
        return Reading(source, reading.commands, (Oddity(0, len(source), refusal),), reading.functions)
    return reading


def split_assignments(words: list[Word], read: Words) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """What a command sets in front of it, and its own words."""
    count = next((at for at, word in enumerate(words) if not is_assignment(read.written(word))), len(words))
    return tuple(words[:count]), tuple(words[count:])


def _agrees(reading: Reading, lexer: Lexer) -> bool:
    """Whether both readings found the very same commands and redirections, word by word."""
    commands = {command.spans for command in reading.commands if command.spans}
    redirections = {(each.at, each.target.start) for command in reading.commands for each in command.redirections}
    return commands == lexer.runs and redirections == lexer.redirections


def _source(text: str) -> str:
    if len(text) > MOST_CHARACTERS:
        raise Unreadable(f"is longer than {MOST_CHARACTERS:,} characters")
    if not text.isascii() and any(char.isspace() and char not in " \t\n" for char in text):
        raise Unreadable("holds spaces that are not the usual ones")
    if any(char < " " and char not in "\t\n" for char in text) or "\x7f" in text:
        raise Unreadable("holds control characters")
    try:
        return text.encode().decode("latin-1")
    except UnicodeEncodeError as error:
        raise Unreadable("holds characters that are no text") from error
