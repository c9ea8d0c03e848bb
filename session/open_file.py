"""Whether the file that was opened is still the one at its path."""

from __future__ import annotations

import os
from pathlib import Path

Identity = tuple[int, int]  # device and inode


class OpenFile:
    """A store's file and, where it has one, its write-ahead log, as they were when they were opened.

    SQLite goes on writing to a file that was deleted or replaced, and all of it is gone when the last who has it open
    lets go. Neither file is ever replaced by SQLite itself while a connection is open.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._log_path = f"{path}-wal"
        self._file, _ = look_at(self._path)
        self._log, self.log_bytes = look_at(self._log_path)

    def what_happened(self) -> str:
        """What befell one of the files, "" when they stand where they stood. Reads `log_bytes` anew; costs 2 µs."""
        found, _ = look_at(self._path)
        if found != self._file:
            return "replaced by another file" if found else "deleted or moved"
        if self._log is None:
            return ""
        found, self.log_bytes = look_at(self._log_path)
        return "" if found == self._log else "deprived of its write-ahead log"


def look_at(path: str) -> tuple[Identity | None, int]:
    """Who a file is, None where there is none, and its size in bytes."""
    try:
        status = os.stat(path)  # noqa: PTH116 - Path.stat costs as much again, and this runs before every transaction
    except OSError:
        return None, 0
    return (status.st_dev, status.st_ino), status.st_size
