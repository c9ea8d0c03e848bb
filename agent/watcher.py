"""Hears of what other processes store, as long as somebody looks at it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from agent.hub import Hub
from agent.session_lines import SessionLine
from session.errors import UserError

log = logging.getLogger(__name__)

LOOK_S = 0.5
AFTER_FAILURE_S = 5.0
WARN_S = 60.0


class Watcher:
    """Asks twice a second whether another process has changed the store, and reads no more unless one has.

    `is_showing` says whether a change could be seen, `told` gets the listing after one. While the window has not the
    focus, nothing is asked at all.
    """

    def __init__(
        self,
        hub: Hub,
        is_showing: Callable[[], bool],
        told: Callable[[list[SessionLine]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub = hub
        self._is_showing = is_showing
        self._told = told
        self._clock = clock
        self._has_focus = asyncio.Event()
        self._has_focus.set()
        self._version: int | None = None
        self._warned_s = float("-inf")
        self._suppressed = 0

    def focus(self, has_focus: bool) -> None:
        (self._has_focus.set if has_focus else self._has_focus.clear)()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._has_focus.wait()
            is_well = await self.look() if self._is_showing() else True
            await asyncio.sleep(LOOK_S if is_well else AFTER_FAILURE_S)

    async def look(self) -> bool:
        """One pass. False where it failed, which is told in the log at most once a minute."""
        try:
            version = await self._hub.data_version()
            if version != self._version:
                self._told(await self._hub.catch_up())
                self._version = version
        except UserError as error:
            self._warn(error)
            return False
        return True

    def _warn(self, error: UserError) -> None:
        now = self._clock()
        if now - self._warned_s < WARN_S:
            self._suppressed += 1
            return
        more = f" ({self._suppressed} times more since the last word of it)" if self._suppressed else ""
        log.warning("what other processes store could not be read: %s%s", error, more)
        self._warned_s, self._suppressed = now, 0
