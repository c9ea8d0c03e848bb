"""Which files a command writes, moves or deletes by name, as far as its words say so."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Words = Sequence[str]

DELETERS = frozenset(("rm", "rmdir", "unlink", "shred", "srm"))
# The settings of git that name a program, or another file of settings.
_GIT_RUNS = re.compile(
    r"(?i)alias\..+|pager\..+|core\.(?:fsmonitor|hookspath|sshcommand|pager|editor|gitproxy|askpass|attributesfile)"
    r"|include(?:if\..+)?\.path|sequence\.editor|credential\..*helper"
    r"|.+\.(?:cmd|command|textconv|driver|clean|smudge|process|program|path|external|tool)"
)


def written_by(name: str, words: Words) -> list[str]:
    """The paths that a program of this name changes."""
    find = _WRITERS.get(name)
    return find(words) if find else []


def writes_names(name: str) -> bool:
    return name in _WRITERS


def sets_program(words: Words) -> str:
    """The setting by which a `git config` makes git start a program later, "" where it does not."""
    operands = _operands(words)
    if operands[:1] != ["config"]:
        return ""
    rest = operands[2:] if operands[1:2] in (["set"], ["add"]) else operands[1:]
    is_set = len(rest) > 1 and not any(word.startswith("--get") for word in words) and rest[0] not in ("get", "unset")
    return rest[0] if is_set and _GIT_RUNS.fullmatch(rest[0]) else ""


def _operands(words: Words) -> list[str]:
    """All words that are no options; a `--` makes operands of all behind it."""
    end = words.index("--") if "--" in words else len(words)
    return [word for word in words[:end] if not word.startswith("-") or word == "-"] + list(words[end + 1 :])


def _copied(words: Words) -> list[str]:
    operands = _operands(words)
    if folders := valued(words, "t", "--target-directory"):
        names = [word.rstrip("/").rpartition("/")[2] for word in operands]
        return [path for folder in folders for path in (folder, *(f"{folder}/{name}" for name in names))]
    last = operands[-1] if len(operands) > 1 else ""
    return [last, last.rstrip("/") + "/"] if last else []


def _moved(words: Words) -> list[str]:
    return [*_operands(words), *_copied(words)]


def _sorted(words: Words) -> list[str]:
    return valued(words, "o", "--output")


def _in_place(words: Words) -> list[str]:
    return _operands(words) if any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in words) else []


def valued(words: Words, letter: str, long: str) -> list[str]:
    """What stands behind an option, in its own word or the next; long ones may be shortened."""
    found: list[str] = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if len(name) > 3 and name.startswith("--") and long.startswith(name):
            found += [value] if equals else words[at + 1 : at + 2]
        elif match := re.fullmatch(rf"-[a-zA-Z]*?{letter}(.*)", word):
            found += [match[1]] if match[1] else words[at + 1 : at + 2]
    return found


_WRITERS: dict[str, Callable[[Words], list[str]]] = {
    **dict.fromkeys(("tee", "touch", "truncate", "blkdiscard", *DELETERS), _operands),
    **dict.fromkeys(("cp", "install", "ln", "rsync"), _copied),
    "mv": _moved,
    "sort": _sorted,
    "sed": _in_place,
    "perl": _in_place,
}
