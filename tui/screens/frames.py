"""Events in batches as the screen wants them: at once where it matters, otherwise about 20 times a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from agent.events import ReasoningDelta, RequestOpened, RequestSettled, TextDelta, TurnEnded, TurnEvent
from agent.listener import Listener

FRAME_S = 0.05
UNFOCUSED_FRAME_S = 0.2  # somebody may still look on, in a pane beside the one that has the focus
CALM_FRAME_S = 0.5  # where motion is unwanted


class Frames:
    """Reads a listener. A reader that was cancelled while it waited has lost nothing: the next one gets it."""

    def __init__(
        self,
        listener: Listener,
        is_calm: Callable[[], bool] = lambda: False,
        has_focus: Callable[[], bool] = lambda: True,
    ) -> None:
        self._listener = listener
        self._is_calm = is_calm
        self._has_focus = has_focus
        self._held: list[TurnEvent] = []
        self._flows: set[str] = set()  # sessions whose answer has begun to show
        self._is_urgent = False
        self._due_s = 0.0

    async def next(self) -> list[TurnEvent]:
        """What came since the last batch. The first words of an answer, a question and the end of a turn do not wait."""
        while not self._held:
            await self._listener.wait()
            self._take()
        while not self._is_urgent and (left_s := self._due_s - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left_s):
                    await self._listener.wait()
            except TimeoutError:
                break
            self._take()
        batch, self._held, self._is_urgent = self._held, [], False
        self._due_s = time.monotonic() + self._frame_s()
        return batch

    def _frame_s(self) -> float:
        if self._is_calm():
            return CALM_FRAME_S
        return FRAME_S if self._has_focus() else UNFOCUSED_FRAME_S

    def _take(self) -> None:
        for event in self._listener.drain():
            self._held.append(event)
            self._is_urgent = self._matters(event) or self._is_urgent

    def _matters(self, event: TurnEvent) -> bool:
        session = event.at.session
        match event:
            case TextDelta() | ReasoningDelta():
                is_first = session not in self._flows
                self._flows.add(session)
                return is_first
            case TurnEnded():
                self._flows.discard(session)
                return True
            case RequestOpened() | RequestSettled():
                return True
            case _:
                return False
