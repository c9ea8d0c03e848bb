"""How long work in a thread may go on."""

from __future__ import annotations

import math
import threading
import time


class Cancelled(Exception):
    """Nobody waits for the work any more. What it had done stays as it is."""


class Pace:
    """Looked at between two files, from the thread that works; set from any."""

    def __init__(self) -> None:
        self.done, self.total = 0, 0  # steps of the work, where it counts them
        self._stopped = threading.Event()
        self._until = math.inf

    def stop(self) -> None:
        self._stopped.set()

    def hurry(self, seconds: float) -> None:
        """No copy is begun after so long."""
        self._until = min(self._until, time.monotonic() + seconds)

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def check(self) -> None:
        """Raises Cancelled."""
        if self._stopped.is_set():
            raise Cancelled

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self._until
