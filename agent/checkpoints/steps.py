"""What is recorded of a session's files: one file a step, numbered, each whole or not there."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.checkpoints.blobs import write_private
from agent.checkpoints.entry import Entry, Kind
from agent.checkpoints.limits import Why

VERSION = 1
_NUMBER = re.compile(r"\d{8}")
_OPEN = "open"
_ROOT = "root"


class Owner(StrEnum):
    """Who changed files. UNTOLD: hermes was ended while a call of the session ran, and others may have, too."""

    SESSION = "session"
    OTHERS = "others"
    UNTOLD = "untold"


class Change(Struct, frozen=True, array_like=True):
    """None is: nothing there. `raw_path` is as the system has it, which need not be text."""

    raw_path: bytes
    before: Entry | None
    after: Entry | None

    @classmethod
    def of(cls, path: str, before: Entry | None, after: Entry | None) -> Change:
        return cls(os.fsencode(path), before, after)

    @property
    def path(self) -> str:
        return os.fsdecode(self.raw_path)


class Step(Struct, frozen=True, array_like=True):
    """One record. `learned` were there before, unchanged as far as is known, and are covered from now on.

    `left` is all that is not covered, None where that is as it was. `is_whole`: the whole workspace was looked at.
    `rewind` is the number of the rewind that a restore is part of, negative for one that takes it back, 0 for none.
    """

    version: int
    owner: Owner
    call_id: str
    at: float
    changes: tuple[Change, ...] = ()
    learned: tuple[tuple[bytes, Entry], ...] = ()
    left: tuple[tuple[bytes, Why], ...] | None = None
    is_whole: bool = False
    is_restore: bool = False
    rewind: int = 0

    @property
    def left_paths(self) -> dict[str, Why]:
        return {os.fsdecode(path): why for path, why in self.left or ()}


class Damaged(Exception):
    """A step can't be read."""


class Newer(Exception):
    """A step was written by a later version of this program."""


class Steps:
    """The steps of one session in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        try:
            names = [entry.name for entry in os.scandir(self.folder)]
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if _NUMBER.fullmatch(name))

    def has(self, number: int) -> bool:
        return self._path(number).exists()

    def read(self, number: int) -> Step:
        """Raises Damaged, Newer or OSError."""
        try:
            step = msgspec.msgpack.decode(zlib.decompress(self._path(number).read_bytes()), type=Step)
        except (zlib.error, msgspec.DecodeError) as error:
            raise Damaged from error
        if step.version > VERSION:
            raise Newer
        return step

    def write(self, number: int, step: Step) -> None:
        """Durable when it returns. Raises OSError, also where the folder is gone: with it goes a session that is deleted."""
        self._put(self._path(number).name, zlib.compress(msgspec.msgpack.encode(step), 1), is_synced=True)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def root(self) -> bytes:
        """Where the workspace was, b"" where that is not known."""
        try:
            return (self.folder / _ROOT).read_bytes()
        except FileNotFoundError:
            return b""

    def note_root(self, root: Path) -> None:
        """A later session in the same workspace need not read again what did not change."""
        if self.root() != os.fsencode(root):
            self._put(_ROOT, os.fsencode(root), is_synced=False)

    def running(self) -> dict[str, list[str] | None]:
        """The calls that began and are not known to have ended, each with the paths it writes, None for any."""
        try:
            raw = (self.folder / _OPEN).read_bytes()
            known = msgspec.msgpack.decode(raw, type=dict[str, list[bytes] | None])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}
        return {call: None if paths is None else [os.fsdecode(path) for path in paths] for call, paths in known.items()}

    def note_running(self, calls: Mapping[str, list[str] | None]) -> None:
        if not calls:
            (self.folder / _OPEN).unlink(missing_ok=True)
            return
        known = {
            call: None if paths is None else [os.fsencode(path) for path in paths] for call, paths in calls.items()
        }
        self._put(_OPEN, msgspec.msgpack.encode(known), is_synced=False)

    def _put(self, name: str, raw: bytes, *, is_synced: bool) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.unlink(missing_ok=True)  # left by a process that was killed
        write_private(str(fresh), raw, is_synced=is_synced)
        fresh.replace(self.folder / name)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}"


def contents(step: Step) -> Iterator[bytes]:
    """The digests that a step needs."""
    entries = [entry for _, entry in step.learned]
    entries += [entry for change in step.changes for entry in (change.before, change.after) if entry is not None]
    return (entry.content for entry in entries if entry.kind is Kind.FILE)
