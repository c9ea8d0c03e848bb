"""Looking at a whole workspace, and reading of it only what changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from agent.checkpoints.blobs import Keeps
from agent.checkpoints.coverage import Coverage, NothingNew, is_draft
from agent.checkpoints.entry import Entry, Kind, folder_of
from agent.checkpoints.limits import Limits, Why
from agent.checkpoints.observed import observe, opaque
from agent.checkpoints.pace import Pace
from agent.checkpoints.state import State
from agent.checkpoints.tree import FOLDER

_NOTHING_NEW = NothingNew()
_Items = list["os.DirEntry[str]"]


class Scanned(Struct, frozen=True):
    """What stands in a workspace. An entry that did not change is the very one that was known."""

    entries: dict[str, Entry]
    left: dict[str, Why]


class Scan:
    """One look. `state` is what was seen last; `hints` what another session saw, good for its contents alone."""

    def __init__(
        self,
        state: State,
        hints: Mapping[str, Entry],
        keeps: Keeps,
        limits: Limits,
        pace: Pace,
        own: str = "",
    ) -> None:
        self._known, self._hints, self._keeps = state.entries, hints, keeps
        self._state = state
        self._limits, self._pace, self._own = limits, pace, own
        self._entries: dict[str, Entry] = {}
        self._left: dict[str, Why] = {}

    def run(self, root: Path, coverage: Coverage) -> Scanned:
        """Raises OSError where there is no such folder, and Cancelled."""
        if self._own == ".":
            self._left["."] = Why.OURS
        else:
            here = os.open(root, FOLDER)
            try:
                self._within(here, "", coverage, self._items(here, coverage))
            finally:
                os.close(here)
        self._entries.update((key, entry) for key, entry in self._known.items() if key.startswith("/"))
        return Scanned(self._entries, self._left)

    def _items(self, here: int, coverage: Coverage) -> _Items:
        with os.scandir(here) as found:
            return sorted(found, key=_name) if coverage.is_ordered else list(found)

    def _within(self, here: int, prefix: str, coverage: Coverage, items: _Items) -> None:
        """The loop that 40,000 files go through: what did not change costs one question to the system."""
        self._pace.check()
        known, entries = self._known, self._entries
        for item in items:
            path = prefix + item.name
            before = known.get(path)
            if item.is_dir(follow_symlinks=False):
                self._folder(here, item.name, path, before, coverage)
                continue
            try:
                status = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if before is None:
                if item.name != ".git" and not is_draft(item.name):
                    self._new(here, item.name, path, status, coverage)
                continue
            if coverage.is_ordered:
                coverage.file(path, status.st_size)
            if before.is_untouched(status):
                entries[path] = before
            else:
                self._pace.check()
                self._take(path, status, observe(here, item.name, status, before, self._keeps, self._limits))

    def _new(self, here: int, name: str, path: str, status: os.stat_result, coverage: Coverage) -> None:
        self._pace.check()
        why = coverage.file(path, status.st_size)
        if why is not None:
            self._left[(path.rpartition("/")[0] or ".") if why is Why.BEYOND else path] = why
            return
        hint = self._hint(path, status)
        if hint is None and self._is_for_later(path):
            self._left[path] = Why.LATE
        else:
            self._take(path, status, observe(here, name, status, hint, self._keeps, self._limits))

    def _is_for_later(self, path: str) -> bool:
        """What was there before any call may wait; what a call made is copied, however long it takes."""
        return self._pace.is_late and (not self._state.is_whole or self._state.left.get(path) is Why.LATE)

    def _hint(self, path: str, status: os.stat_result) -> Entry | None:
        hint = self._hints.get(path)
        if hint is None or not hint.is_untouched(status):
            return None
        return hint if hint.kind is not Kind.FILE or self._keeps.has(hint.content) else None

    def _take(self, path: str, status: os.stat_result, seen: Entry | Why | None) -> None:
        match seen:
            case Entry():
                self._entries[path] = seen
            case Why():
                self._left[path] = seen
                if path in self._known:
                    self._entries[path] = opaque(status)
            case None:
                pass

    def _folder(self, here: int, name: str, path: str, before: Entry | None, coverage: Coverage) -> None:
        if name == ".git":
            return
        if path == self._own:
            self._left[path] = Why.OURS
            return
        why = coverage.folder(path) if before is None else None
        if why is Why.IGNORED:
            self._unlisted(here, name, path)
            return
        if why is not None:
            self._left[path] = why
            return
        if path.count("/") >= self._limits.depth:
            self._left[path] = Why.DEEP
            return
        try:
            inner = os.open(name, FOLDER, dir_fd=here)
        except OSError:
            self._closed(here, name, path)
            return
        try:
            self._inner(inner, path, before, coverage)
        finally:
            os.close(inner)

    def _inner(self, inner: int, path: str, before: Entry | None, coverage: Coverage) -> None:
        items = self._items(inner, coverage)
        if any(item.name == ".git" for item in items):
            self._left[path] = Why.REPOSITORY
            if before is None:
                return
            coverage = _NOTHING_NEW
        fresh = folder_of(os.fstat(inner))
        self._entries[path] = before if before is not None and before == fresh else fresh
        self._within(inner, f"{path}/", coverage, items)

    def _closed(self, here: int, name: str, path: str) -> None:
        """A folder that can't be opened (any more): all in it is as it was, as far as can be told."""
        self._left[path] = Why.UNREADABLE
        try:
            status = os.lstat(name, dir_fd=here)
        except OSError:
            return
        if path in self._known and stat.S_ISDIR(status.st_mode):
            self._entries[path] = folder_of(status)
            below = f"{path}/"
            self._entries.update((key, entry) for key, entry in self._known.items() if key.startswith(below))

    def _unlisted(self, here: int, name: str, path: str) -> None:
        """A folder in which git has no file: it is ignored, unless there is none to ignore."""
        empty: dict[str, Entry] = {}
        if _is_bare(here, name, path, empty, self._limits.depth):
            self._entries.update(empty)
        else:
            self._left[path] = Why.IGNORED


def _is_bare(here: int, name: str, path: str, found: dict[str, Entry], depth: int) -> bool:
    """Whether there are only folders in a folder, which are then among `found`."""
    try:
        inner = os.open(name, FOLDER, dir_fd=here)
    except OSError:
        return False
    try:
        with os.scandir(inner) as listed:
            items = list(listed)
        found[path] = folder_of(os.fstat(inner))
        return depth > 0 and all(
            item.is_dir(follow_symlinks=False) and _is_bare(inner, item.name, f"{path}/{item.name}", found, depth - 1)
            for item in items
        )
    finally:
        os.close(inner)


def _name(item: os.DirEntry[str]) -> str:
    return item.name
