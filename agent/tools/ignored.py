"""Which files git would not look at: by .gitignore in each folder, and by .git/info/exclude of the repository.

What is ignored for one person alone (core.excludesFile) stays out of it: the same tree gives the same answer everywhere.
Nothing but the standard library is imported here, and no git is run.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from agent.tools.globs import glob_regex

_NAME = ".gitignore"
_MOST_BYTES = 64 * 1024
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class _Pattern(NamedTuple):
    """`by_name` patterns are matched with the last part of a path, the others with all of it; a folder ends in "/"."""

    regex: str
    by_name: bool
    is_kept: bool  # it begins with "!": what it matches is not ignored


class IgnoreFile:
    """The patterns of one file. The last that matches decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        patterns = [pattern for line in lines if (pattern := _pattern(line))]
        self._is_kept = [pattern.is_kept for pattern in patterns]
        self._by_name = _Latest(patterns, by_name=True)
        self._by_path = _Latest(patterns, by_name=False)

    def ignores(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether a path, seen from the file's folder, is ignored; None where no pattern speaks of it."""
        end = "/" if is_folder else ""
        last = max(self._by_name.match(path.rpartition("/")[2] + end), self._by_path.match(path + end))
        return None if last < 0 else not self._is_kept[last]


class _Latest:
    """The last of some patterns that matches, found by one regular expression in which the last comes first."""

    def __init__(self, patterns: Sequence[_Pattern], *, by_name: bool) -> None:
        self._numbers = [number for number, one in enumerate(patterns) if one.by_name is by_name][::-1]
        joined = "|".join(f"({patterns[number].regex})" for number in self._numbers)
        self._match = re.compile(f"(?s:{joined})").fullmatch if joined else None

    def match(self, text: str) -> int:
        """Its number, -1 where none does."""
        found = self._match(text) if self._match else None
        return self._numbers[found.lastindex - 1] if found and found.lastindex else -1


class _Level(NamedTuple):
    base: str  # the folder of the file, from the top, with "/" behind it; "" for the top itself
    file: IgnoreFile


class Rules(NamedTuple):
    """What holds in a folder: its own file first, then those above. Paths are told from the top, parted by "/"."""

    levels: tuple[_Level, ...] = ()

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        for base, file in self.levels:
            verdict = file.ignores(path[len(base) :], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False

    def inside(self, folder: int, path: str) -> Rules:
        """The rules in a folder, opened as `folder`. Nothing from outside of a repository holds in it."""
        base = f"{path}/" if path else ""
        above = () if _exists(".git", folder) else self.levels
        exclude = () if above else _level(".git/info/exclude", folder, base)
        return Rules((*_level(_NAME, folder, base), *above, *exclude))


def rules_above(folder: Path) -> tuple[Rules, str]:
    """The rules that hold for a folder from those above it, and its path from their top."""
    top = next((here for here in (folder, *folder.parents) if (here / ".git").exists()), Path("/"))
    rules, path = Rules(), ""
    parts = folder.relative_to(top).parts
    for count in range(len(parts)):
        path = "/".join(parts[:count])
        with suppress(OSError), _opened(top / path) as handle:
            rules = rules.inside(handle, path)
    return rules, "/".join(parts)


class _opened:  # noqa: N801 - reads like the function it stands for
    """A folder to look into, closed again."""

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> int:
        return self._handle

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _level(name: str, folder: int, base: str) -> tuple[_Level, ...]:
    text = _text(name, folder)
    return (_Level(base, _read(text)),) if text.strip() else ()


@lru_cache(maxsize=256)
def _read(text: str) -> IgnoreFile:
    return IgnoreFile(text.split("\n"))


def _text(name: str, folder: int) -> str:
    """What a file says, "" where there is none to be read."""
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return os.fsdecode(file.read(_MOST_BYTES)).removeprefix("\ufeff") if is_file else ""


def _exists(name: str, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except OSError:
        return False
    return True


# --- a pattern as a regular expression


def _pattern(line: str) -> _Pattern | None:
    """None for a line that says nothing, or nothing that git understands."""
    line = _without_trailing_blanks(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    is_kept = line.startswith("!")
    line = line[is_kept:]
    is_for_folders = line.endswith("/")
    line = line.removesuffix("/")
    by_name = "/" not in line
    regex = glob_regex(line.removeprefix("/"))
    if not line or regex is None:
        return None
    return _Pattern(regex + ("/" if is_for_folders else "/?"), by_name, is_kept)


def _without_trailing_blanks(line: str) -> str:
    kept = line.rstrip(" ")
    is_escaped = (len(kept) - len(kept.rstrip("\\"))) % 2 == 1
    return kept + " " if is_escaped and len(kept) < len(line) else kept
