"""What a command writes: read as it comes, shown live, kept in part, all of it in a log once it is long."""

from __future__ import annotations

import asyncio
import codecs
import os
import time
from collections.abc import Callable
from pathlib import Path

from agent.literal import OutputFolder
from agent.tools.output import Excerpt, OutputLog

_CHUNK_BYTES = 65_536
# A flood is read at 32 MB/s at most: the pipe then slows the command, and the loop stays free.
_BURST_BYTES, _BURST_S = 1024 * 1024, 1 / 32
_QUIET_S, _SETTLE_S = 0.05, 1.0
_LIVE_CHARS, _LIVE_WINDOW_S = 32_768, 0.1


class CommandOutput:
    """Reads one pipe until its last writer closes it. Made and used on the event loop."""

    def __init__(self, log_path: Path, emit: Callable[[str], None]) -> None:
        self.log = OutputLog(log_path)
        self._live = _Live(emit)
        self._excerpt: Excerpt | None = Excerpt()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._folder = OutputFolder()
        self._total_bytes = 0
        self._is_waiting = False
        self._pump: asyncio.Task[None] | None = None

    async def attach(self, read_end: int) -> None:
        """Start reading; the descriptor is ours from here on."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
        )
        self._pump = loop.create_task(self._read(reader, transport))

    @property
    def is_open(self) -> bool:
        """Whether somebody may still write."""
        return self._pump is not None and not self._pump.done()

    async def settle(self) -> None:
        """Wait for what the ended command had written. A child left behind may hold the pipe open for good (T03)."""
        deadline = time.monotonic() + _SETTLE_S
        while self._pump and not self._pump.done() and time.monotonic() < deadline:
            seen = self._total_bytes
            await asyncio.wait({self._pump}, timeout=_QUIET_S)
            if seen == self._total_bytes and self._is_waiting:
                return

    async def text(self) -> str:
        """What a model reads of it so far. Anything written later goes to the log only."""
        excerpt, self._excerpt = self._excerpt, None
        if excerpt is None:
            return ""
        rest = self._decoder.decode(b"", final=True)
        self._live.finish(rest)
        excerpt.add(self._folder.feed(rest) + self._folder.finish())
        is_wanted = excerpt.is_cut or self.is_open
        if is_wanted:
            await self.log.open()
        text = excerpt.text(self.log.whereabouts)
        if not self.is_open:
            await self.log.close(is_wanted=is_wanted)
        return text

    async def only_log(self) -> None:
        """Nobody waits for this command: its output goes to the log from its first byte."""
        self._excerpt = None
        await self.log.open()

    async def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait({self._pump})
        await self.log.close(is_wanted=self._excerpt is None)

    async def _read(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        burst_bytes, burst_at = 0, time.monotonic()
        try:
            while chunk := await self._next(reader):
                await self._take(chunk)
                burst_bytes += len(chunk)
                if burst_bytes >= _BURST_BYTES:
                    await asyncio.sleep(max(0.0, burst_at + _BURST_S - time.monotonic()))
                    burst_bytes, burst_at = 0, time.monotonic()
            if self._excerpt is None:
                await self.log.close(is_wanted=True)
        finally:
            transport.close()

    async def _next(self, reader: asyncio.StreamReader) -> bytes:
        self._is_waiting = True
        chunk = await reader.read(_CHUNK_BYTES)
        self._is_waiting = False
        return chunk

    async def _take(self, chunk: bytes) -> None:
        self._total_bytes += len(chunk)
        if self._excerpt is not None:
            text = self._decoder.decode(chunk)
            self._live.add(text)
            self._excerpt.add(self._folder.feed(text))
        await self.log.add(chunk)


class _Live:
    """Passes text on as it comes; of a flood, the latest of each moment, and says how much was passed over."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._window_at = 0.0
        self._room = 0
        self._latest = ""
        self._skipped_chars = 0

    def add(self, text: str) -> None:
        now = time.monotonic()
        if now - self._window_at >= _LIVE_WINDOW_S:
            self._window_at, self._room = now, _LIVE_CHARS
            self._catch_up()
        if text and len(text) <= self._room and not self._skipped_chars:
            self._room -= len(text)
            self._emit(text)
        elif text:
            self._latest = (self._latest + text)[-_LIVE_CHARS:]
            self._skipped_chars += len(text)

    def finish(self, text: str) -> None:
        self._window_at = 0.0
        self.add(text)

    def _catch_up(self) -> None:
        if not self._skipped_chars:
            return
        over = self._skipped_chars - len(self._latest)
        notice = f"\n⟨{over:,} characters went by too fast to show⟩\n" if over else ""
        self._emit(notice + self._latest)
        self._room -= len(self._latest)
        self._latest, self._skipped_chars = "", 0
