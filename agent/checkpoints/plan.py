"""What a rewind would do to files, to be looked at before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct

from agent.checkpoints.entry import Entry, Kind, is_same
from agent.checkpoints.limits import Why
from agent.checkpoints.steps import Change, Owner, Step

CHANGED_SINCE = "it was changed since, and not by this session"
CHANGED_MEANWHILE = "it was also changed meanwhile, and not by this session"
UNTOLD = "hermes was ended while a call ran, so it can't be told who changed it"
NOT_KEPT = "what is there now can't be kept (too large, or it can't be read), so an undo could not bring it back"
STOPPED = "the restore was stopped before it"
LOST = "what was there before is not kept (too large, or it could not be read)"


class Did(StrEnum):
    """What the session did to a file. A restore removes what was created and brings back what was deleted."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


class PlannedFile(Struct, frozen=True):
    """One path, relative to the workspace, absolute outside of it. `now` stands there, `then` would.

    `conflict` is why it is left alone unless a person says otherwise, "" where nothing speaks against it.
    """

    path: str
    now: Entry | None
    then: Entry | None
    conflict: str = ""

    @property
    def did(self) -> Did:
        if self.then is None:
            return Did.CREATED
        return Did.DELETED if self.now is None else Did.MODIFIED

    @property
    def is_folder(self) -> bool:
        entry = self.then or self.now
        return entry is not None and entry.kind is Kind.FOLDER


class Uncovered(Struct, frozen=True):
    """A file, or a folder with all in it, that is left as it is; "." is all else in the workspace.

    `why` completes "it is not covered: ...".
    """

    path: str
    why: Why


class RestorePlan(Struct, frozen=True):
    """`is_cut`: the record of the session is damaged, so that what it did at first is not known."""

    files: tuple[PlannedFile, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()
    is_cut: bool = False

    @property
    def conflicts(self) -> tuple[PlannedFile, ...]:
        return tuple(file for file in self.files if file.conflict)

    def that(self, did: Did) -> tuple[PlannedFile, ...]:
        return tuple(file for file in self.files if file.did is did)


@dataclass
class Story:
    """What happened to one path: what the session found first, what it made of it, and what speaks against going back."""

    then: Entry | None
    made: list[Entry | None] = field(default_factory=list["Entry | None"])
    against: str = ""

    def add(self, change: Change, owner: Owner) -> None:
        if owner is Owner.OTHERS:
            if not self.has(change.after):
                self.against = CHANGED_MEANWHILE
            return
        if self.made and not self.has(change.before):  # a conflict that was ticked in a rewind, and brought back since
            self.against = CHANGED_MEANWHILE
        self.made += (change.before, change.after)
        if owner is Owner.UNTOLD:
            self.against = UNTOLD

    def has(self, entry: Entry | None) -> bool:
        return any(is_same(entry, other) for other in self.made)

    def conflict(self, now: Entry | None) -> str:
        """Nothing is lost where what stands there is what the session made, or had found."""
        if self.then is not None and self.then.kind is Kind.OPAQUE:
            return LOST
        if now is not None and now.kind is Kind.OPAQUE:
            return NOT_KEPT
        return self.against or ("" if self.has(now) else CHANGED_SINCE)


def start_of(steps: Mapping[int, Step], calls: Iterable[str]) -> int | None:
    """The first step in which one of the calls changed files."""
    wanted = frozenset(calls)
    return next((number for number, step in steps.items() if step.call_id in wanted and step.changes), None)


def stories(steps: Mapping[int, Step], start: int) -> dict[str, Story]:
    """Of each path that the session changed from a step on. What others changed alone is left to them."""
    told: dict[str, Story] = {}
    for number, step in steps.items():
        for change in step.changes if number >= start else ():
            if step.owner is not Owner.OTHERS:
                told.setdefault(change.path, Story(change.before)).add(change, step.owner)
            elif change.path in told:
                told[change.path].add(change, step.owner)
    return told


def uncovered(steps: Mapping[int, Step], start: int) -> tuple[Uncovered, ...]:
    """What was not covered before a step or since, what git ignores last."""
    found: dict[str, Why] = {}
    for number, step in steps.items():
        if step.left is None:
            continue
        if number < start:
            found.clear()
        found.update(step.left_paths)
    return tuple(Uncovered(path, why) for path, why in sorted(found.items(), key=_by_weight))


def _by_weight(item: tuple[str, Why]) -> tuple[bool, str]:
    return item[1] is Why.IGNORED, item[0]
