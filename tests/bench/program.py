"""A program in a 120x40 pty. What it writes is timestamped by a thread and put on an emulated screen afterwards, so that
emulation takes no part in what is measured."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pyte

COLS, ROWS = 120, 40
POLL_S = 0.005

# What a terminal answers of its own: modes it knows, keyboard flags, attributes, background colour.
QUERY = re.compile(rb"\x1b\[\?(\d+)\$p|\x1b\[\?u|\x1b\[0?c|\x1b\]11;\?(?:\x07|\x1b\\)")


def answer(query: re.Match[bytes]) -> bytes:
    asked = query.group()
    if asked.endswith(b"$p"):
        return b"\x1b[?%s;%d$y" % (query.group(1), 2 if query.group(1) == b"2026" else 0)
    if asked.endswith(b"u"):
        return b"\x1b[?0u"
    return b"\x1b[?62;22c" if asked.endswith(b"c") else b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"


class Program:
    def __init__(self, command: list[str], environ: dict[str, str], cwd: Path) -> None:
        self.log: list[tuple[float, bytes]] = []
        self.size_bytes = 0
        self.is_closed = False
        self._shown = 0
        self._screen = pyte.Screen(COLS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, COLS * 8, ROWS * 16))
        self.spawned_at = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            env=environ,
            cwd=cwd,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
        os.close(child)
        self._tree = psutil.Process(self._process.pid)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                written = os.read(self._fd, 262_144)
            except OSError:  # EIO: the last holder of the other end is gone
                written = b""
            if not written:
                self.is_closed = True
                return
            self.log.append((time.monotonic(), written))
            self.size_bytes += len(written)
            seen = rest + written
            for query in QUERY.finditer(seen):
                self.write(answer(query))
            cut = seen.rfind(b"\x1b")
            rest = seen[cut:] if 0 <= len(seen) - cut < 16 and not QUERY.match(seen[cut:]) and cut >= 0 else b""

    def write(self, keys: bytes) -> None:
        os.write(self._fd, keys)

    # --- the screen

    def show(self, until: Callable[[str], bool] | None = None) -> float | None:
        """Bring the emulated screen up to date; stop where a condition holds, and say when that was written."""
        while self._shown < len(self.log):
            at, written = self.log[self._shown]
            self._shown += 1
            self._stream.feed(written)
            if until is not None and until(self.screen()):
                return at
        return None

    def screen(self) -> str:
        return "\n".join(self._screen.display)

    def wait_for(self, holds: Callable[[str], bool], timeout_s: float, what: str) -> float:
        """When the program wrote what made a condition hold. Raises AssertionError with the screen."""
        ends_at = time.monotonic() + timeout_s
        while time.monotonic() < ends_at and not (self.is_closed and self._shown == len(self.log)):
            at = self.show(holds)
            if at is not None:
                return at
            time.sleep(POLL_S)
        raise AssertionError(f"{what} did not show:\n{self.screen()}")

    def wait_quiet(self, gap_s: float = 0.4, timeout_s: float = 10) -> None:
        """Until nothing was written for a while."""
        ends_at = time.monotonic() + timeout_s
        while time.monotonic() < ends_at:
            before = self.size_bytes
            time.sleep(gap_s)
            if self.size_bytes == before:
                break
        self.show()

    # --- what it costs

    def processes(self) -> list[psutil.Process]:
        return [self._tree, *self._tree.children(recursive=True)]

    def cpu_s(self) -> float:
        spent = [process.cpu_times() for process in self.processes()]
        return sum(one.user + one.system + one.children_user + one.children_system for one in spent)

    def rss_mb(self) -> float:
        return sum(process.memory_info().rss for process in self.processes()) / 2**20

    def kill(self) -> None:
        for process in reversed(self.processes()):
            process.kill()
        self._process.wait()
        self._reader.join(5)
        os.close(self._fd)
