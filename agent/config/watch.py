"""Noticing that a settings file was changed by somebody else, without a timer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

CHECK_S = 1.0
Stamp = tuple[int, int, int]


class Watch:
    """One file. Asking costs one look at the clock, and one at the file at most once in `CHECK_S`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._looked_at = clock()
        self._stamp = stamp_of(path)

    def changed(self) -> bool:
        """Whether the file is another one than when this was last true."""
        now = self._clock()
        if now - self._looked_at < CHECK_S:
            return False
        self._looked_at = now
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        return True


def stamp_of(path: Path) -> Stamp | None:
    """What a change of a file changes. A file that is gone, or can't be looked at, is a state, too."""
    try:
        status = os.stat(path)  # noqa: PTH116 - on every key
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
