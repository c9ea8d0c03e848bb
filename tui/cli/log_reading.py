"""The lines of the log: those that are there, and those that come, through a change of the file."""

from __future__ import annotations

import logging
import os
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1_000_000
LONGEST_BYTES = 1_000_000  # a line that is longer is shown in pieces

_RECORD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} \d+ ([A-Z]+) ")


class LogLines:
    """One log file by its path, read on from where the last reading ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def new(self) -> Iterator[str]:
        """The whole lines that came since, also after the file was put aside, or emptied, for a new one."""
        if self._file is not None:
            yield from self._read(self._file)
        fresh = self._opened_anew()
        if fresh is None:
            return
        if self._file is not None:
            yield from self._read(self._file)  # what was written before it was put aside
            yield from self.unfinished()
            self._file.close()
        self._file = fresh
        yield from self._read(fresh)

    def unfinished(self) -> Iterator[str]:
        """The last line as far as it is written."""
        rest, self._rest = self._rest, b""
        if rest:
            yield _text(rest)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    # --- inside

    def _read(self, file: BinaryIO) -> Iterator[str]:
        while chunk := file.read(CHUNK_BYTES):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            yield from map(_text, lines)
            if len(self._rest) > LONGEST_BYTES:
                yield from self.unfinished()

    def _opened_anew(self) -> BinaryIO | None:
        """The file that is at the path now, None while that is the one being read, or none."""
        with suppress(FileNotFoundError):
            found = self._path.stat()
            if self._file is None:
                return self._path.open("rb") if self._path.is_file() else None
            held = os.fstat(self._file.fileno())
            if (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino):
                return self._path.open("rb")
            if found.st_size < self._file.tell():
                return self._path.open("rb")
        return None


class Wanted:
    """Which lines to show. What belongs to a record, such as a traceback, goes where its first line goes."""

    def __init__(self, since: float | None, level: str) -> None:
        self._since = since
        self._least = logging.getLevelNamesMapping().get(level.upper(), 0)
        self._is_kept = since is None and not level

    def keeps(self, line: str) -> bool:
        if record := _RECORD.match(line):
            self._is_kept = self._is_serious(record[2]) and self._is_late(record[1])
        return self._is_kept

    def _is_serious(self, level: str) -> bool:
        return logging.getLevelNamesMapping().get(level, logging.CRITICAL) >= self._least

    def _is_late(self, written: str) -> bool:
        if self._since is None:
            return True
        try:
            return time.mktime(time.strptime(written, "%Y-%m-%d %H:%M:%S")) + 1 > self._since
        except (ValueError, OverflowError):
            return True


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log, those of the file that was put aside before it too. Blocks."""
    kept: deque[str] = deque(maxlen=count)
    for log in (LogLines(path.with_name(f"{path.name}.1")), LogLines(path)):
        kept += log.new()
        kept += log.unfinished()
        log.close()
    return list(kept)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")
