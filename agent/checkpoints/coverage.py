"""Which files of a workspace are covered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from agent.checkpoints.limits import Limits, Why
from agent.checkpoints.listing import Question
from agent.config.home import Home

DRAFT = (".hermes-", ".tmp")  # what is written aside before it is renamed, left by a process that was killed


class Coverage(Protocol):
    """Says of a path why it is not covered, None where it is. What was covered once stays so, whatever this says."""

    is_ordered: bool  # whether the answer depends on what was asked before

    def file(self, path: str, size_bytes: int) -> Why | None: ...

    def folder(self, path: str) -> Why | None: ...


class GitCoverage:
    """What git does not ignore. Asking raises NoAnswer and Cancelled."""

    is_ordered = False

    def __init__(self, question: Question) -> None:
        self._question = question

    def file(self, path: str, size_bytes: int) -> Why | None:
        return None if path in self._question.listed.files else Why.IGNORED

    def folder(self, path: str) -> Why | None:
        listed = self._question.listed
        if path in listed.folders:
            return None
        is_listed = path in listed.files or path in listed.repositories  # a submodule, or a clone
        return Why.REPOSITORY if is_listed else Why.IGNORED


class WalkCoverage:
    """All there is, up to a bound. What git ignored as long as there was a repository is still left alone."""

    is_ordered = True

    def __init__(self, limits: Limits, left: Mapping[str, Why]) -> None:
        self._limits, self._left = limits, left
        self._files = self._bytes = 0

    def file(self, path: str, size_bytes: int) -> Why | None:
        if self._left.get(path) is Why.IGNORED:
            return Why.IGNORED
        self._files += 1
        if size_bytes <= self._limits.file_bytes:
            self._bytes += size_bytes
        return Why.BEYOND if self._is_full else None

    def folder(self, path: str) -> Why | None:
        if self._left.get(path) is Why.IGNORED:
            return Why.IGNORED
        return Why.BEYOND if self._is_full else None

    @property
    def _is_full(self) -> bool:
        return self._files > self._limits.walk_files or self._bytes > self._limits.walk_bytes


class NothingNew:
    """A repository inside of the workspace: its files are its own."""

    is_ordered = False

    def file(self, path: str, size_bytes: int) -> Why | None:
        return Why.REPOSITORY

    def folder(self, path: str) -> Why | None:
        return Why.REPOSITORY


def is_draft(name: str) -> bool:
    return name.startswith(DRAFT[0]) and name.endswith(DRAFT[1])


def own_folder(home: Home, root: Path) -> str:
    """Where the home of hermes is below a workspace: "" for nowhere, "." for the workspace itself.

    What hermes writes while a call runs is not what the call did.
    """
    place = home.root.resolve()
    return str(place.relative_to(root)) if place.is_relative_to(root) else ""
