"""What one session has read of which file, so that nothing it has not seen is overwritten (T18)."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

MOST_HASHED_BYTES = 4 * 1024**2  # far more than a model can read whole


class FileState(Struct, frozen=True):
    """Which content a file had. `sha256` is "" where it was too large to be looked at whole."""

    size_bytes: int
    mtime_ns: int
    inode: int
    sha256: str = ""

    def is_same(self, other: FileState) -> bool:
        """Whether the content is the same: by itself where it is known, else by what the file system says of it."""
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return self.is_same_file(other)

    def is_same_file(self, other: FileState) -> bool:
        return (self.size_bytes, self.mtime_ns, self.inode) == (other.size_bytes, other.mtime_ns, other.inode)


def state_of(fd: int) -> FileState:
    """The state of an open file. Reads it, up to a bound."""
    about = os.fstat(fd)
    content = os.pread(fd, MOST_HASHED_BYTES + 1, 0) if about.st_size <= MOST_HASHED_BYTES else b""
    is_whole = about.st_size <= MOST_HASHED_BYTES >= len(content)
    return stated(about, content if is_whole else None)


def stated(about: os.stat_result, content: bytes | None) -> FileState:
    digest = "" if content is None else hashlib.sha256(content).hexdigest()
    return FileState(about.st_size, about.st_mtime_ns, about.st_ino, digest)


class SeenLines(Struct, frozen=True):
    """Lines that were shown, counted from 1. `total` is how many the file has, where its end was reached."""

    first: int
    last: int
    total: int | None = None
    is_cut: bool = False  # whether a part of one of them was left out


@dataclass(slots=True)
class _Seen:
    state: FileState
    shown: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # merged, ascending
    total: int | None = None
    has_cuts: bool = False
    is_whole: bool = False


class SeenFiles:
    """By real path. Kept in memory only: what a hermes that ended had read counts for nothing."""

    def __init__(self) -> None:
        self._files: dict[Path, _Seen] = {}

    def note_read(self, path: Path, state: FileState, lines: SeenLines) -> None:
        seen = self._files.get(path)
        if seen is None or not seen.state.is_same(state):
            seen = self._files[path] = _Seen(state)
        seen.state = state
        seen.has_cuts |= lines.is_cut
        seen.total = lines.total if lines.total is not None else seen.total
        seen.shown = _merged([*seen.shown, (lines.first, lines.last)])
        seen.is_whole |= not seen.has_cuts and _holds(seen, 1, seen.total)

    def note_written(self, path: Path, state: FileState, *, is_whole: bool) -> None:
        """The session wrote the file. `is_whole` says that all of its content is the session's own, or was known to it."""
        self._files[path] = _Seen(state, is_whole=is_whole)

    def knows_whole(self, path: Path) -> bool:
        seen = self._files.get(path)
        return seen is not None and seen.is_whole

    def is_shown(self, path: Path, state: FileState, first: int, last: int) -> bool:
        """Whether these lines were shown before and the file is still the same."""
        seen = self._files.get(path)
        if seen is None or not seen.state.is_same(state):
            return False
        return _holds(seen, first, last if seen.total is None else min(last, seen.total))

    def forget_shown(self, path: Path | None = None) -> None:
        """What was shown, of one file or of all, may not be before the model any more. What is known of them stays."""
        for seen in self._files.values() if path is None else filter(None, [self._files.get(path)]):
            seen.shown.clear()

    def why_stale(self, path: Path, state: FileState) -> str:
        """Why a file must be read again before it is changed, "" where it need not be. A sentence (T18)."""
        seen = self._files.get(path)
        if seen is None or seen.state.is_same(state):
            return ""
        return f"{path} changed on disk since it was read; read it again."

    def why_not_replaced(self, path: Path, state: FileState | None) -> str:
        """Why a file must not be written over as a whole, "" where it may be: a new, empty or known one. A sentence."""
        if state is None or not state.size_bytes:
            return ""
        if why := self.why_stale(path, state):
            return why
        if self.knows_whole(path):
            return ""
        how_much = "only been read in part" if path in self._files else "not been read"
        return f"{path} has {how_much} in this session; read all of it first, or change parts of it with patch."


def _holds(seen: _Seen, first: int, last: int | None) -> bool:
    if last is None:
        return False
    return last < first or any(begin <= first and last <= end for begin, end in seen.shown)


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
