"""How those who watch a turn are told: a bounded queue in which adjacent deltas merge."""

from __future__ import annotations

import asyncio
from collections import deque

from msgspec.structs import replace

from agent.events import CallOutput, ReasoningDelta, TextDelta, TurnEvent

BOUND = 5_000  # events; far above what a screen at 20 frames a second leaves unread


class Listener:
    """One reader of events. A reader too slow for `BOUND` events is told by `fell_behind` and reads the rows again."""

    def __init__(self, bound: int = BOUND) -> None:
        self._events: deque[TurnEvent] = deque()
        self._bound = bound
        self._news = asyncio.Event()
        self._fell_behind = False

    def put(self, event: TurnEvent) -> None:
        merged = _merge(self._events[-1], event) if self._events else None
        if merged is not None:
            self._events[-1] = merged
        elif len(self._events) >= self._bound:
            self._events.clear()
            self._fell_behind = True
        else:
            self._events.append(event)
        self._news.set()

    async def wait(self) -> None:
        """Until there is something to drain."""
        await self._news.wait()

    def drain(self) -> list[TurnEvent]:
        """All that came since the last drain, in order."""
        events = list(self._events)
        self._events.clear()
        self._news.clear()
        return events

    def fell_behind(self) -> bool:
        """True once after events were lost: what was drained is not the whole story, the rows are."""
        fell, self._fell_behind = self._fell_behind, False
        return fell


def _merge(last: TurnEvent, new: TurnEvent) -> TurnEvent | None:
    """Two deltas of one stream as one, or None where they must stay apart."""
    match last, new:
        case (TextDelta(at=a, text=x), TextDelta(at=b, text=y)) if a.session == b.session:
            return replace(new, text=x + y)
        case (ReasoningDelta(at=a, text=x), ReasoningDelta(at=b, text=y)) if a.session == b.session:
            return replace(new, text=x + y)
        case (CallOutput(at=a, call_id=i, text=x), CallOutput(at=b, call_id=j, text=y)) if (a.session, i) == (
            b.session,
            j,
        ):
            return replace(new, text=x + y)
        case _:
            return None
