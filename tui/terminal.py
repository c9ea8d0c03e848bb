"""The person's terminal: its modes, and putting them back on every way out."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from session.errors import UserError

# Kitty keyboard: tell keys apart, report all of them as sequences, with their text.
_KITTY_PUSH = "\x1b[>25u"

ENTER = (
    "\x1b[?1049h"  # alternate screen
    "\x1b[22;0t"  # the window's title is kept, for RESTORE to bring back
    "\x1b[?1000h\x1b[?1003h\x1b[?1006h"  # mouse: buttons, motion, SGR encoding
    "\x1b[?25l"  # no cursor
    "\x1b[?1004h"  # focus reports
    "\x1b[?2004h"  # bracketed paste
    "\x1b[?7l"  # no line wrap
)
RESTORE = (
    "\x1b[<u"  # kitty keyboard; before the alternate screen is left, for each screen has a stack of its own
    "\x1b[?2004l"
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
    "\x1b[?1004l"
    "\x1b[?2026l"  # synchronised output
    "\x1b[23;0t"
    "\x1b[?7h"
    "\x1b[?1049l"
    "\x1b[0m"
    "\x1b[?25h"
)
ASK_SYNC = "\x1b[?2026$p"

_KEY_BY_KEY = termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG  # all off

# Ends whatever sequence was cut off in the middle.
_CANCEL = "\x18"


class NoTerminal(UserError):
    """The terminal can't be opened, for instance after `su`, when it belongs to somebody else."""

    sentence = "The terminal can't be opened ({why}). For one prompt without the screen: hermes chat -q TEXT"


class Terminal:
    """A terminal opened anew, non-blocking here without being so for the others that share fd 0."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_up = False
        self.cut_output = False  # what was written last is not all of it
        self.parting: Callable[[], str] = str  # what else has to be put back
        self._saved = _usual(termios.tcgetattr(fd))

    @classmethod
    def open(cls, fd: int = 0) -> Terminal:
        """The terminal behind a file descriptor. Raises NoTerminal."""
        flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            return cls(_open_by_name(fd, flags))
        except (OSError, termios.error) as error:
            raise NoTerminal(why=error.args[-1]) from error

    def size(self) -> tuple[int, int]:
        """Columns and lines; 80x24 where the terminal tells none."""
        try:
            columns, lines = os.get_terminal_size(self.fd)
        except OSError:
            return 80, 24
        return columns or 80, lines or 24

    def enter(self, *, kitty: bool = True, ask: str = "") -> str:
        """Raw mode. Returns what to write to put the screen up, with questions that the terminal may answer."""
        with suppress(termios.error):
            termios.tcsetattr(self.fd, termios.TCSANOW, _raw(termios.tcgetattr(self.fd)))
        self.is_up = True
        return ENTER + (_KITTY_PUSH if kitty else "") + ask

    def restore(self) -> None:
        """Put everything back, once. Never blocks and never raises: for every way out, from any thread."""
        if not self.is_up:
            return
        self.is_up = False
        with suppress(OSError, termios.error):
            self._write_restore()
        with suppress(termios.error):
            termios.tcflush(self.fd, termios.TCIFLUSH)  # reports still under way must not reach the shell
        with suppress(termios.error):
            termios.tcsetattr(self.fd, termios.TCSANOW, self._saved)

    @contextmanager
    def lent(self) -> Generator[None]:
        """Textual's own driver puts the screen up and takes it down; what it leaves behind after an error is restored."""
        self.is_up = True
        yield
        self.is_up = False

    def close(self) -> None:
        self.restore()
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def _write_restore(self) -> None:
        restore = self.parting() + RESTORE
        data = ((_CANCEL if self.cut_output else "") + restore).encode()
        try:
            if os.write(self.fd, data) == len(data):
                return
        except BlockingIOError:
            pass
        # Nobody reads: frames that wait in the kernel make room, they are of no use any more.
        termios.tcflush(self.fd, termios.TCOFLUSH)
        os.write(self.fd, (_CANCEL + restore).encode())


def _open_by_name(fd: int, flags: int) -> int:
    """In some containers the terminal's own name leads nowhere, and /dev/tty still does."""
    try:
        return os.open(os.ttyname(fd), flags)
    except OSError:
        return os.open("/dev/tty", flags)


def drain(fd: int, data: bytes, seconds: float) -> bytes:
    """Write to a non-blocking fd for at most so long. Returns what was not taken."""
    deadline = time.monotonic() + seconds
    while data and (left := deadline - time.monotonic()) > 0:
        poller = select.poll()
        poller.register(fd, select.POLLOUT)
        if not poller.poll(left * 1000):
            break
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            continue
        except OSError:
            return b""
    return data


@contextmanager
def diverted_output(log_fd: int) -> Generator[None]:
    """While the screen is up, whatever a library prints goes to the log: fd 1 and 2 are not ours to draw with."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # pyright: ignore[reportUnnecessaryComparison] - None where the fd was closed
            stream.flush()
    kept = [os.dup(fd) for fd in (1, 2)]
    try:
        for fd in (1, 2):
            os.dup2(log_fd, fd)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        for fd, old in zip((1, 2), kept, strict=True):
            os.dup2(old, fd)
            os.close(old)


def _usual(attributes: list[Any]) -> list[Any]:
    """The modes to go back to. A shell starts no program in raw mode: what looks like it was left by one that was killed."""
    iflag, oflag, cflag, lflag, ispeed, ospeed, cc = attributes
    if not lflag & _KEY_BY_KEY:
        lflag |= _KEY_BY_KEY
        iflag |= termios.ICRNL | termios.IXON
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, cc]


def _raw(attributes: list[Any]) -> list[Any]:
    """Keys come one by one, unechoed, and Ctrl+C is a key; what is written stays as it was."""
    iflag, oflag, cflag, lflag, ispeed, ospeed, cc = attributes
    iflag &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    lflag &= ~_KEY_BY_KEY
    cc = list(cc)
    cc[termios.VMIN], cc[termios.VTIME] = 1, 0
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, cc]
