"""What is known of a workspace after the steps so far."""

from __future__ import annotations

import os
from collections.abc import Mapping

from agent.checkpoints.entry import Entry
from agent.checkpoints.limits import Why
from agent.checkpoints.steps import Change, Step
from agent.checkpoints.tree import parents

Learned = tuple[bytes, Entry]


class State:
    """`entries` is what is covered, `left` what is not. `gone` had an entry once."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.left: dict[str, Why] = {}
        self.gone: set[str] = set()
        self.is_whole = False

    def apply(self, step: Step) -> None:
        self.entries.update((os.fsdecode(path), entry) for path, entry in step.learned)
        for change in step.changes:
            if change.after is None:
                self.entries.pop(change.path, None)
                self.gone.add(change.path)
            else:
                self.entries[change.path] = change.after
        if step.left is not None:
            self.left = step.left_paths
        self.is_whole = self.is_whole or step.is_whole

    def was_absent(self, path: str) -> bool:
        """Whether nothing was at a path that has no entry; otherwise it may have been there, uncovered."""
        return path in self.gone or (self.is_whole and not self.is_left(path))

    def is_left(self, path: str) -> bool:
        return "." in self.left or path in self.left or any(folder in self.left for folder in parents(path))

    def against(self, found: Mapping[str, Entry | None], created: frozenset[str]) -> tuple[list[Learned], list[Change]]:
        """What was learned and what changed, by what is found now. `created` are known not to have been there."""
        learned: list[Learned] = []
        changes: list[Change] = []
        for path, now in found.items():
            before = self.entries.get(path)
            if before is now:
                continue
            if now is not None and (now.is_same(before) or not (before or path in created or self.was_absent(path))):
                learned.append((os.fsencode(path), now))
            else:
                changes.append(Change.of(path, before, now))
        return learned, changes
