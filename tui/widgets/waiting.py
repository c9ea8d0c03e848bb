"""What a session waits for, since when, and how often by now, as the status row tells it."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from msgspec import Struct

from agent.events import (
    AnswerRestarted,
    CallStarted,
    CompactionEnded,
    CompactionStarted,
    ReasoningDelta,
    RequestOpened,
    RestoreMoved,
    RowStored,
    TextDelta,
    TurnEnded,
    TurnEvent,
    TurnStarted,
)
from session.models import Role
from tui.widgets.status_bar import elapsed

WORTH_TELLING_S = 3  # a shorter wait is no news


class Wait(Struct, frozen=True):
    """A wait for the first word of an answer; until `asks_at_s` for the moment to ask again."""

    asks_at_s: float
    attempt: int = 1
    attempts: int = 1


class Waits:
    """The waits of all sessions, followed by their events. Times are those of `clock`, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: dict[str, Wait] = {}
        self._compacting: dict[str, float] = {}  # since when
        self._restoring: dict[str, tuple[int, int]] = {}  # files, of how many

    def hear(self, event: TurnEvent) -> bool:
        """Whether a wait is over."""
        session_id, now = event.at.session, self._clock()
        match event:
            case TurnStarted():
                self._open[session_id] = Wait(now)
            case RowStored(row=row) if row.role is Role.TOOL:
                self._open[session_id] = Wait(now)
            case CompactionStarted():
                self._compacting[session_id] = now
            case CompactionEnded():
                self._compacting.pop(session_id, None)
                if session_id in self._open:
                    self._open[session_id] = Wait(now)  # only now the model is asked
            case RestoreMoved(done=None):
                self._restoring.pop(session_id, None)
            case RestoreMoved(done=int(done), total=total):
                self._restoring[session_id] = done, total
            case AnswerRestarted(attempt=attempt, attempts=attempts, wait_s=wait_s):
                self._open[session_id] = Wait(now + wait_s, attempt, attempts)
            case TextDelta() | ReasoningDelta() | CallStarted() | RequestOpened() | TurnEnded():
                return self._open.pop(session_id, None) is not None
            case RowStored(row=row) if row.role is Role.ASSISTANT:
                return self._open.pop(session_id, None) is not None
            case _:
                pass
        return False

    def compacting_s(self, session_id: str) -> int | None:
        """For how long the session's conversation is being compacted, None while it is not."""
        since_s = self._compacting.get(session_id)
        return None if since_s is None else int(self._clock() - since_s)

    def restoring(self, session_id: str) -> tuple[int, int] | None:
        """How many files of how many are changed back by now, None while none are."""
        return self._restoring.get(session_id)

    def told(self, session_id: str) -> str:
        """The field, "" where nothing is waited for that is worth telling."""
        wait = self._open.get(session_id)
        if wait is None or session_id in self._compacting:
            return ""
        since_s = self._clock() - wait.asks_at_s
        count = f" ({wait.attempt} of {wait.attempts})" if wait.attempts > 1 else ""
        if since_s < 0:
            return f"asks again in {elapsed(ceil(-since_s))}{count}"
        return f"no word yet {elapsed(int(since_s))}{count}" if count or since_s >= WORTH_TELLING_S else ""
