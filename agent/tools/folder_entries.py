"""What lies in a folder: its entries that are not ignored, and the rules that hold below.

Nothing but the standard library is imported here: a search that runs apart from hermes uses it, too.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from agent.tools.ignored import Rules

HIDDEN = ".git"  # never looked into: what a repository consists of is none of its files
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entries(NamedTuple):
    """In order of their names. `ignored` is how many were left out; `rules` hold in the folders of these entries."""

    entries: list[os.DirEntry[str]]
    ignored: int
    rules: Rules


def entries_of(folder: int, path: str, above: Rules, *, with_ignored: bool) -> Entries:
    """`path` leads to the folder from the top of the rules; `above` are the rules of the folder that it is in."""
    rules = Rules() if with_ignored else above.inside(folder, path)
    with os.scandir(folder) as found:
        entries = [entry for entry in found if entry.name != HIDDEN]
    base = f"{path}/" if path else ""
    kept = [one for one in entries if not rules.ignores(base + one.name, is_folder=is_folder(one))]
    kept.sort(key=lambda entry: entry.name)
    return Entries(kept, len(entries) - len(kept), rules)


def is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


@contextmanager
def subfolder(folder: int, path: str) -> Generator[int]:
    """A folder below a folder, by no link. Raises OSError."""
    handle = os.dup(folder)
    try:
        for name in filter(None, path.split("/")):
            inner = os.open(name, _LIST, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def files_below(folder: int, path: str, above: Rules, *, with_ignored: bool) -> Iterator[tuple[str, int, str]]:
    """Every file that is not ignored: its path from the folder, and the open folder and name to open it by."""
    yield from _files(folder, "", path, above, with_ignored=with_ignored)


def _files(folder: int, base: str, path: str, above: Rules, *, with_ignored: bool) -> Iterator[tuple[str, int, str]]:
    entries, _, rules = entries_of(folder, path, above, with_ignored=with_ignored)
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            yield base + entry.name, folder, entry.name
        elif is_folder(entry):
            try:
                inner = os.open(entry.name, _LIST, dir_fd=folder)
            except OSError:
                continue  # not ours to read, or gone
            try:
                below = f"{path}/{entry.name}" if path else entry.name
                yield from _files(inner, f"{base}{entry.name}/", below, rules, with_ignored=with_ignored)
            finally:
                os.close(inner)
