"""How the process is asked to end, and how it ends even when its loop no longer listens.

SIGINT, SIGTERM, SIGHUP and a terminal that hung up all ask the loop for an orderly end. One thread, asleep until then,
sees to it that the process is gone after `GRACE_S`: a blocked loop, a terminal that takes no more output or a SIGHUP
that is ignored (nohup) would otherwise leave a process that spins or hangs for ever.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import NoReturn

log = logging.getLogger(__name__)

GRACE_S = 1.2  # for settling turns and restoring the terminal; with it the process is gone within 2 s
LAST_WORDS_S = 0.3
AGAIN_S = 0.3  # a signal later than this after the first was meant: now

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Asked(BaseException):
    """The process was asked to end while it waited, outside a loop, for something that may never come."""


class Ending:
    """A context in which the process ends well. `last_words` run on a forced end, on another thread."""

    def __init__(self, last_words: Callable[[], None], terminal_fd: int | None = None) -> None:
        self.number: int | None = None  # the signal that asked, SIGHUP for a lost terminal
        self._asked_at = 0.0
        self._last_words = last_words
        self._terminal_fd = terminal_fd
        self._ask: Callable[[], object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_waiting = False
        self._grace_s = GRACE_S
        self._is_over = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        self._before: dict[int, object] = {}

    @property
    def exit_code(self) -> int | None:
        """128 and the signal, None when nobody asked."""
        return None if self.number is None else 128 + self.number

    def listen(self, ask: Callable[[], object]) -> None:
        """From now on an ending is asked of the running loop: `ask` is called there, once."""
        self._loop, self._ask = asyncio.get_running_loop(), ask
        if self.number is not None:
            self._loop.call_soon(ask)

    def unlisten(self) -> None:
        self._loop = self._ask = None

    @contextmanager
    def raising(self) -> Generator[None]:
        """For a wait outside a loop: a signal ends it with Asked. Everywhere else a signal is noted and acted on later."""
        self._is_waiting = True
        try:
            if self.number is not None:
                raise Asked
            yield
        finally:
            self._is_waiting = False

    def limit(self, seconds: float) -> None:
        """The person leaves: the process ends within so many seconds, even if a thread or a turn hangs."""
        self._grace_s = seconds
        self._wake()

    def lost_terminal(self) -> None:
        """The terminal is gone. Callable from any thread."""
        self._request(signal.SIGHUP)

    def __enter__(self) -> Ending:
        for number in _SIGNALS:
            # What was ignored when we were started (nohup, a job in the background) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch, name="hermes-ending", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._wake()
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]

    # --- inside

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asks_again(number):
            self._force()
        self._request(number)
        if self._is_waiting:
            self._is_waiting = False
            raise Asked

    def _asks_again(self, number: int) -> bool:
        """Whether somebody insists. One cause can bring a signal twice: `timeout` sends two, a hang-up a SIGHUP of its own."""
        return self.number is not None and number != signal.SIGHUP and time.monotonic() - self._asked_at > AGAIN_S

    def _request(self, number: int) -> None:
        if self.number is not None:
            return
        self.number, self._asked_at = number, time.monotonic()
        self._wake()
        if self._loop is not None and self._ask is not None:
            try:
                self._loop.call_soon_threadsafe(self._ask)
            except RuntimeError:
                log.debug("the loop was closed already")

    def _wake(self) -> None:
        os.write(self._wake_write, b".")

    def _watch(self) -> None:
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        if self._terminal_fd is not None:
            poller.register(self._terminal_fd, 0)  # reports nothing but a hang-up or an error
        seen = dict(poller.poll())
        if seen.get(self._terminal_fd or -1, 0) & (select.POLLHUP | select.POLLERR):
            self.lost_terminal()
        elif self._wake_read not in seen:
            # macOS cannot poll some terminals: there the driver's end of file and SIGHUP tell.
            poller.unregister(self._terminal_fd or -1)
            poller.poll()
        if not self._is_over.wait(self._grace_s):
            self._force()

    def _force(self) -> NoReturn:
        """Whatever the last words do, for instance wait for a pipe that nobody reads, the process ends."""
        speaker = threading.Thread(target=self._last_words, daemon=True)
        speaker.start()
        speaker.join(LAST_WORDS_S)
        os._exit(self.exit_code or 0)
