"""A real pty whose other side a test holds: it reads when it wants to, and hangs up when it wants to."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pyte
import pytest

WAIT_S = 20  # a machine that is busy may need most of a start
HERMES = Path(sys.executable).with_name("hermes")
SMALL_APP = Path(__file__).with_name("small_app.py")

MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
USUALLY_ON = {b"7", b"25"}  # line wrap and the cursor


class Pty:
    """The master side of a pty, the program on the slave side, and what a terminal would show."""

    def __init__(self, columns: int = 100, lines: int = 30) -> None:
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.modes = termios.tcgetattr(self.slave)
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self.process: psutil.Popen | None = None

    def start(
        self,
        arguments: Sequence[str | Path],
        environ: dict[str, str],
        *,
        has_session: bool = True,
        ignores_hup: bool = False,
    ) -> psutil.Popen:
        """Run a program on the slave, which is its controlling terminal unless `has_session` is False."""

        def prepare() -> None:
            os.setsid()
            if has_session:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if ignores_hup:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        self.process = psutil.Popen(
            [str(argument) for argument in arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environ,
            cwd=Path(environ["HERMES_HOME"]).parent,  # a folder that brings nothing to be asked about
            preexec_fn=prepare,
            close_fds=True,
        )
        return self.process

    def send(self, data: bytes) -> None:
        os.write(self.master, data)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._screen.resize(lines, columns)

    def pump(self, seconds: float = 0.05) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            self.written += data
            self._stream.feed(data)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(self, holds: Callable[[str], object] | str, timeout_s: float = WAIT_S) -> str:
        ends_at = time.monotonic() + timeout_s
        check = holds if callable(holds) else lambda text: holds in text
        while not check(self.text()):
            assert time.monotonic() < ends_at, f"not shown: {holds}\n{self.text()}"
            self.pump()
        return self.text()

    def wait_exit(self, timeout_s: float = WAIT_S) -> int:
        """The exit status, reading on what the program writes."""
        assert self.process is not None
        ends_at = time.monotonic() + timeout_s
        while (status := self.process.poll()) is None:
            assert time.monotonic() < ends_at, f"still running\n{self.text()}"
            self.pump(0.02)
        self._drain()
        return status

    def _drain(self) -> None:
        """Show what was written before the end: a pty gives no more than 4 KB a read."""
        shown = -1
        while shown != len(self.written):
            shown = len(self.written)
            self.pump(0)

    def hang_up(self) -> None:
        """What a terminal emulator does when its window is closed."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1
        os.close(self.master)
        self.master = -1

    def left_modes(self) -> set[bytes]:
        """The modes of the terminal that are not as they were before, by all that was written."""
        on = set(USUALLY_ON)
        for numbers, is_set in MODE.findall(self.written):
            for number in numbers.split(b";"):
                (on.add if is_set == b"h" else on.discard)(number)
        pairs = ((b"\x1b[>25u", b"\x1b[<u"), (b"\x1b[22;0t", b"\x1b[23;0t"))
        return (on ^ USUALLY_ON) | {push for push, pop in pairs if self.written.rfind(push) > self.written.rfind(pop)}

    def is_restored(self) -> bool:
        """Whether the tty has the modes from before, and every mode of the terminal that was set was reset."""
        return b"\x1b[?1049l" in self.written and not self.left_modes() and termios.tcgetattr(self.slave) == self.modes

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def pty() -> Iterator[Pty]:
    pty = Pty()
    yield pty
    pty.close()


@pytest.fixture
def hermes() -> Path:
    """The command as it is installed."""
    return HERMES


@pytest.fixture
def environ(hermes_home: Path) -> dict[str, str]:
    (hermes_home / "config.yaml").write_text("probe_local: false\nmodel: demo\n")
    return {**os.environ, "HERMES_HOME": str(hermes_home)}


@pytest.fixture
def small_app(pty: Pty, environ: dict[str, str], tmp_path: Path) -> Pty:
    """The small app, on the screen."""
    pty.start([sys.executable, SMALL_APP, tmp_path], environ)
    pty.wait_for("ready")
    return pty


@pytest.fixture
def screen(pty: Pty, environ: dict[str, str]) -> Pty:
    """The product, on the screen."""
    pty.start([HERMES], environ)
    pty.wait_for("Ask for anything")
    return pty
