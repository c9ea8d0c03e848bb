"""Limits of tool output: what of it a model gets, and where the whole of it is."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from io import FileIO
from pathlib import Path

HEAD_CHARS = 20_000
TAIL_CHARS = 30_000
_HELD_BYTES = 256 * 1024  # output up to here makes no file
_LOG_BYTES = 256 * 1024 * 1024
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Excerpt:
    """The beginning and the end of a text that arrives in pieces; memory is bounded by the two limits."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._room = HEAD_CHARS
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._dropped_chars = 0

    @property
    def is_cut(self) -> bool:
        return self._left_out > 0

    @property
    def _left_out(self) -> int:
        return self._dropped_chars + max(0, self._tail_chars - TAIL_CHARS)

    def add(self, text: str) -> None:
        if self._room:
            self._head.append(text[: self._room])
            text, self._room = text[self._room :], max(0, self._room - len(text))
        if text:
            self._tail.append(text)
            self._tail_chars += len(text)
        while self._tail and self._tail_chars - len(self._tail[0]) >= TAIL_CHARS:
            dropped = len(self._tail.popleft())
            self._tail_chars -= dropped
            self._dropped_chars += dropped

    def text(self, whole: str) -> str:
        """Head and tail, with a notice between them when something is left out. `whole` says where all of it is."""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self.is_cut:
            return head + tail
        return f"{head}\n⟨{self._left_out:,} characters left out here; {whole}⟩\n{tail[-TAIL_CHARS:]}"


class OutputLog:
    """Everything a command wrote, byte for byte: in memory while it is short, else in a private file (bounded)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held = bytearray()
        self._file: FileIO | None = None
        self._size_bytes = 0
        self._fault = ""
        self._order = asyncio.Lock()

    @property
    def whereabouts(self) -> str:
        if self._fault:
            return f"the whole could not be kept: {self._fault}"
        if self._size_bytes >= _LOG_BYTES:
            return f"the first {_LOG_BYTES // 1024**2} MB are in {self.path}"
        return f"all of it is in {self.path}"

    async def add(self, chunk: bytes) -> None:
        async with self._order:
            if self._file is not None:
                await asyncio.to_thread(self._write, chunk)
            elif not self._fault:
                self._held += chunk
        if len(self._held) > _HELD_BYTES:
            await self.open()

    async def open(self) -> None:
        """Make the file now, with what was held so far."""
        async with self._order:
            if self._file is None and not self._fault:
                await asyncio.to_thread(self._open)

    async def close(self, *, is_wanted: bool) -> None:
        async with self._order:
            self._held.clear()
            if self._file is not None:
                await asyncio.to_thread(self._close, is_wanted)

    def _open(self) -> None:
        try:
            # Not what is above them: that would be the home of a profile that was deleted meanwhile.
            for folder in (self.path.parent.parent, self.path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            self._file = os.fdopen(os.open(self.path, _NEW_FILE, 0o600), "wb", buffering=0)
        except OSError as error:
            self._fault = error.strerror or str(error)
        else:
            self._write(self._held)
        self._held.clear()

    def _write(self, chunk: bytes | bytearray) -> None:
        wanted = memoryview(chunk)[: _LOG_BYTES - self._size_bytes]
        if self._file is None or self._fault:
            return
        try:
            while wanted:
                written = self._file.write(wanted)
                self._size_bytes += written
                wanted = wanted[written:]
        except OSError as error:
            self._fault = error.strerror or str(error)

    def _close(self, is_wanted: bool) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if not is_wanted:
            self.path.unlink(missing_ok=True)
