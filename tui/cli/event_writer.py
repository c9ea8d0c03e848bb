"""Lines on their way to whoever reads them: in order, and never in the way of the turn that they tell about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tui.cli.console import data, loss


class EventWriter:
    """Writes beside the loop: a reader that takes its time must not keep the turn from being stopped.

    `on_gone` is called once when the reader has left.
    """

    def __init__(self, on_gone: Callable[[], None]) -> None:
        self.is_gone = False
        self._on_gone = on_gone
        self._lines: list[str] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, line: str) -> None:
        self._lines.append(line)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())

    async def finish(self) -> None:
        """Until all that was added is written."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._lines:
            lines, self._lines = self._lines, []
            is_read = await asyncio.to_thread(data, "\n".join(lines))
            if not (is_read or loss() or self.is_gone):
                self.is_gone = True
                self._on_gone()
