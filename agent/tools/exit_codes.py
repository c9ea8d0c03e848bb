"""What an exit code says: a few programs answer no with 1, which is no failure (T13)."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from session.models import CallOutcome

_ANSWERS = {
    "grep": "no line matched",
    "egrep": "no line matched",
    "fgrep": "no line matched",
    "rg": "nothing matched",
    "diff": "the files differ",
    "cmp": "the files differ",
    "test": "the condition is false",
    "[": "the condition is false",
}
_LONGEST_READ = 2_000  # characters; shlex is slow
_OPERATORS = frozenset("();<>|&")


def outcome(command: str, exit_code: int) -> CallOutcome:
    """How a command that ran to its end is painted and reported."""
    is_fine = exit_code == 0 or _answer(command, exit_code) is not None
    return CallOutcome.OK if is_fine else CallOutcome.ERROR


def told(command: str, exit_code: int) -> str:
    """The line about the code that ends the output."""
    answer = _answer(command, exit_code)
    return f"Exit code: {exit_code}" + (f" ({answer})" if answer else "")


def _answer(command: str, exit_code: int) -> str | None:
    return _ANSWERS.get(PurePath(_last_program(command)).name) if exit_code == 1 else None


def _last_program(command: str) -> str:
    """The program whose code it likely is: the last simple command of the last line, "" when that is hard to tell."""
    line = command.strip().rpartition("\n")[2]
    if len(line) > _LONGEST_READ:
        return ""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    program = ""
    starts = True
    try:
        for word in lexer:
            if _OPERATORS.issuperset(word):
                starts = word not in ("<", ">", ">>", "<<", "<<<", ">&", "&>")
            elif starts and "=" not in word:
                program, starts = word, False
    except ValueError:
        return ""
    return program
