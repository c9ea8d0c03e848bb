"""What a person settled beforehand about commands, by their words and never by their text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from agent.approvals.shell_verdict import NO_RULE, CommandVerdict, Decision, Part
from agent.approvals.shell_word import UNKNOWN
from session.errors import UserError

# A wide rule for one of these would allow whatever can be written as text.
_RUN_ANYTHING = re.compile(
    r"(?:(?:ba|da|z|k|a|mk|fi)?sh|python|perl|ruby|node|php|lua|awk|gawk|mawk|deno|bun|osascript|env|xargs|sudo|doas|su|ssh|"
    r"parallel|make|busybox|expect|eval|watch|find|tar|vim?|npx|uvx|docker|podman|kubectl)[0-9.]*"
)
_PLAIN = re.compile(r"[A-Za-z0-9][\w:.-]*")


class Width(StrEnum):
    """How much a rule covers: this very command, a command with its subcommand, or all that begins with these words."""

    EXACT = "exact"
    SUBCOMMAND = "subcommand"
    PREFIX = "prefix"


class BadRule(UserError):
    """A rule that names no command."""

    sentence = "{text} is no rule for a command. Write the words that it begins with, such as: git push *"


class Rule(Struct, frozen=True):
    """`source` says where it stands, such as session or project."""

    decision: Decision
    words: tuple[str, ...]
    width: Width = Width.EXACT
    source: str = ""

    def __str__(self) -> str:
        """As it is written and shown: `= npm test`, `git push`, `git push *`."""
        text = shlex.join(self.words)
        match self.width:
            case Width.EXACT:
                return f"= {text}"
            case Width.SUBCOMMAND:
                return text
            case Width.PREFIX:
                return f"{text} *"


class Rules(Struct, frozen=True):
    """All that count, in any order: deny wins over ask, and ask over allow."""

    rules: tuple[Rule, ...] = ()

    def denying(self, forms: Iterable[Sequence[str]]) -> Rule | None:
        return self._strict(Decision.DENY, forms)

    def asking(self, forms: Iterable[Sequence[str]]) -> Rule | None:
        return self._strict(Decision.ASK, forms)

    def allowing(self, argv: Sequence[str], *, is_open: bool = False) -> Rule | None:
        """By the words in front of the first one that is not fixed. What nobody knows yet fits no exact rule."""
        return next((rule for rule in self._of(Decision.ALLOW) if _fits(rule, argv, is_open=is_open)), None)

    def _strict(self, decision: Decision, forms: Iterable[Sequence[str]]) -> Rule | None:
        told = [tuple(form) for form in forms if form]
        return next((rule for rule in self._of(decision) if any(_may_fit(rule, form) for form in told)), None)

    def _of(self, decision: Decision) -> Iterator[Rule]:
        return (rule for rule in self.rules if rule.decision is decision)


NO_RULES = Rules()


class Proposal(Struct, frozen=True):
    """The rules, from narrow to wide, that would let a part run unasked from now on."""

    part: Part
    rules: tuple[Rule, ...]


def read_rule(decision: Decision, text: str, source: str = "") -> Rule:
    """`git push *` is all that begins so, `= npm test` this alone, `git commit` the subcommand. Raises BadRule."""
    is_exact = text.startswith("= ")
    try:
        words = tuple(shlex.split(text.removeprefix("= ")))
    except ValueError as error:
        raise BadRule(text=text) from error
    is_prefix = not is_exact and words[-1:] == ("*",)
    words = words[:-1] if is_prefix else words
    if not words or not words[0] or words[0].startswith("-"):
        raise BadRule(text=text)
    if is_prefix:
        return Rule(decision, words, Width.PREFIX, source)
    is_plain = len(words) <= 2 and all(map(_PLAIN.fullmatch, words[1:])) and not is_exact
    return Rule(decision, words, Width.SUBCOMMAND if is_plain else Width.EXACT, source)


def rule_proposals(verdict: CommandVerdict) -> tuple[Proposal, ...]:
    """For each part that was asked for want of a rule (C26). What is asked for another reason can't be allowed for good."""
    found: dict[tuple[str, ...], Proposal] = {}
    for part in verdict.parts:
        if part.verdict is Decision.ASK and part.rule == NO_RULE and part.argv and not part.is_open:
            found.setdefault(part.argv, Proposal(part, tuple(_by_width(part.argv))))
    return tuple(found.values())


def _by_width(argv: tuple[str, ...]) -> Iterator[Rule]:
    yield Rule(Decision.ALLOW, argv)
    if _RUN_ANYTHING.fullmatch(argv[0].rpartition("/")[2]):
        return
    if len(argv) > 1 and _PLAIN.fullmatch(argv[1]) and argv[1].isascii() and not any(char in argv[1] for char in "./"):
        yield Rule(Decision.ALLOW, argv[:2], Width.SUBCOMMAND)
    yield Rule(Decision.ALLOW, argv[:1], Width.PREFIX)


def _fits(rule: Rule, argv: Sequence[str], *, is_open: bool) -> bool:
    if rule.width is Width.EXACT:
        return not is_open and tuple(argv) == rule.words
    return tuple(argv[: len(rule.words)]) == rule.words


def _may_fit(rule: Rule, argv: tuple[str, ...]) -> bool:
    """Generous, for what forbids: whatever folder the program is named by, and with options in between (C04, C32)."""
    for named in (argv, (argv[0].rpartition("/")[2], *argv[1:])):
        if rule.width is Width.EXACT:
            if named == rule.words:
                return True
        elif _begins(named, rule.words):
            return True
    return False


def _begins(argv: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Word by word, passing over options and what may be their values."""
    if argv[:1] != words[:1]:
        return False
    at = 1
    for word in words[1:]:
        while at < len(argv) and argv[at] != word and _may_be_skipped(argv, at):
            at += 1
        if at >= len(argv) or argv[at] != word:
            return False
        at += 1
    return True


def _may_be_skipped(argv: tuple[str, ...], at: int) -> bool:
    return argv[at].startswith("-") or UNKNOWN in argv[at] or (at > 1 and argv[at - 1].startswith("-"))
