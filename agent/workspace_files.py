"""The files of a workspace that a person may mean, by a few letters of their paths."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
import re
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.tools.folder_entries import entries_of, is_folder, subfolder
from agent.tools.ignored import Rules, rules_above
from agent.tools.opened import listable

MOST_FILES = 20_000
MOST_S = 2.0  # for one look at a workspace, on a slow disk
FRESH_S = 5.0  # for which a look is good
MOST_FOUND = 50


class WorkspaceFiles:
    """What lies in one folder, without what .gitignore leaves out. A look at it is kept for some seconds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._paths: Sequence[str] = ()
        self._looked_at_s = float("-inf")

    async def like(self, written: str) -> list[str]:
        """Paths that what is written could mean, the likeliest first; a folder ends in "/"."""
        return await asyncio.to_thread(self._like, written)

    def _like(self, written: str) -> list[str]:
        if time.monotonic() - self._looked_at_s > FRESH_S:
            self._paths, self._looked_at_s = list(listed(self.root)), time.monotonic()
        return ranked(written, self._paths)


def listed(root: Path) -> Iterator[str]:
    """Files and folders below a folder, level by level, as far as number and time allow."""
    try:
        root = root.resolve()
        above, base = rules_above(root)
        handle = listable(root)
    except OSError:
        return  # the folder is gone, which the session itself tells
    try:
        found = (one for one in _below(handle, base, above) if one.isprintable())
        yield from itertools.islice(found, MOST_FILES)
    finally:
        os.close(handle)


def _below(handle: int, base: str, above: Rules) -> Iterator[str]:
    until_s = time.monotonic() + MOST_S
    level = deque([("", above)])
    while level and time.monotonic() < until_s:
        path, rules = level.popleft()
        try:
            with subfolder(handle, path) as folder:
                found = entries_of(folder, "/".join(filter(None, (base, path))), rules, with_ignored=False)
        except OSError:
            continue  # not ours to read, or gone meanwhile
        for entry in found.entries:
            name = f"{path}/{entry.name}" if path else entry.name
            if is_folder(entry):
                level.append((name, found.rules))
            yield f"{name}/" if is_folder(entry) else name


def ranked(written: str, paths: Sequence[str]) -> list[str]:
    """Those of the paths whose letters hold the written ones in order; where they stand together or begin a name first."""
    if not written:
        return list(paths[:MOST_FOUND])
    wanted = written.lower()
    scattered = re.compile("".join(f"[^{letter}]*{letter}" for letter in map(re.escape, wanted)), re.DOTALL)
    found = (
        (distance, len(path), path)
        for path in paths
        if (distance := _distance(wanted, path.lower(), scattered)) is not None
    )
    return [path for _, _, path in heapq.nsmallest(MOST_FOUND, found)]


def _distance(wanted: str, path: str, scattered: re.Pattern[str]) -> int | None:
    """How far a path is from what was written; None where it can't be meant."""
    name = path.rstrip("/").rpartition("/")[2]
    if path.startswith(wanted) or name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in path:
        return 2
    match = scattered.match(path)
    return None if match is None else 3 + match.end() - path.index(wanted[0])


async def paths_like(written: str, cwd: Path) -> list[str]:
    """What lies at a path that is not written to its end, seen from a folder, in the way it was written."""
    return await asyncio.to_thread(_paths_like, written, cwd)


def _paths_like(written: str, cwd: Path) -> list[str]:
    base, slash, start = written.rpartition("/")
    try:
        folder = Path(base + slash).expanduser() if base.partition("/")[0] == "~" else Path(base + slash)
        with os.scandir(cwd / folder) as found:
            entries = sorted((one.name, one.is_dir()) for one in itertools.islice(found, MOST_FILES))
    except OSError:
        return []  # there is no such folder, or it is not ours to read
    fitting = (name + "/" * is_dir for name, is_dir in entries if name.startswith(start) and name.isprintable())
    shown = (name for name in fitting if start.startswith(".") or not name.startswith("."))
    return [f"{base}{slash}{name}" for name in itertools.islice(shown, MOST_FOUND)]
