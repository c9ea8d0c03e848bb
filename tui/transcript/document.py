"""The reducer: stored rows and live events become the same blocks.

A reopened transcript equals the live one because both go through `blocks_of`; what has no row yet (the open answer, the
progress of a call) stands only at the tail or in a card, and is replaced as a whole when its row arrives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agent.events import (
    AnswerRestarted,
    CallOutput,
    CallStarted,
    CaughtUp,
    ReasoningDelta,
    RequestOpened,
    RequestSettled,
    RowStored,
    TextDelta,
    TurnEnded,
    TurnEvent,
    TurnStarted,
)
from session.memory_store import is_temporary
from session.models import Message, Role
from tui.transcript.blocks import (
    Activity,
    Answer,
    Block,
    CardState,
    Reasoning,
    ToolCard,
    blocks_of,
    card_of_result,
)

LIVE_OUTPUT_CHARS = 4_000
"""How much of a running call's output is kept: its tail is all that is shown until the row arrives."""

WAITING = "Waiting for the model"


class Origin(Struct, frozen=True):
    """The row that a block stands for, and when that was said."""

    row_id: int
    at_s: float  # since the epoch


class Document:
    """The blocks of one session. Work per event does not depend on how many there are."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.blocks: list[Block] = []
        self.origins: list[Origin] = []  # of the blocks that stand for rows
        self._settled = 0  # blocks before this index stand for rows; the rest is the open tail
        self._cards: dict[str, int] = {}
        self._unsettled: set[str] = set()
        self._running_since: dict[str, float] = {}  # on the clock, by the ids of calls
        self._last_row_id = 0  # of the store
        self._read_to = -1  # the number of the last event whose row was read
        self._is_working = False
        self._waiting_for = WAITING
        self._text = ""
        self._reasoning = ""

    def reset(self, rows: Sequence[Message], seq: int = -1) -> None:
        """Show these rows and nothing else. Events up to `seq` that bring rows bring none that are not among them."""
        self.__init__(self._clock)
        for row in rows:
            self._last_row_id = 0  # a summary stands before rows that are older than it
            self._store(row)
        self._last_row_id = max((row.id for row in rows if not is_temporary(row.id)), default=0)
        self._read_to = seq

    def apply(self, events: Sequence[TurnEvent]) -> int:
        """Take what happened; returns the lowest index whose block changed (the length when none did)."""
        before = self.blocks[self._settled :]
        first = self._settled
        del self.blocks[first:]
        text: list[str] = []
        reasoning: list[str] = []
        for event in events:
            match event:
                case TextDelta(text=more):
                    text.append(more)
                case ReasoningDelta(text=more):
                    reasoning.append(more)
                case _:
                    self._hear(text, reasoning)
                    first = min(first, self._take(event))
        self._hear(text, reasoning)
        self._settled = len(self.blocks)
        tail = self._tail()
        is_same = first == self._settled and tail == before
        self.blocks += before if is_same else tail
        return len(self.blocks) if is_same else first

    def tick(self) -> int:
        """Count the seconds of the calls that run; returns the lowest index whose block changed (the length when none did)."""
        now_s = self._clock()
        changed = [self._count(call_id, int(now_s - since_s)) for call_id, since_s in self._running_since.items()]
        return min(changed, default=len(self.blocks))

    def _count(self, call_id: str, seconds: int) -> int:
        def counted(card: ToolCard) -> ToolCard:
            is_news = card.state is CardState.RUNNING and card.running_s != seconds
            return replace(card, running_s=seconds) if is_news else card

        return self._change(call_id, counted)

    def _hear(self, text: list[str], reasoning: list[str]) -> None:
        """Add the deltas gathered so far to the open answer: one join for many, so that long answers stay cheap."""
        if not text and not reasoning:
            return
        self._is_working = True
        self._text += "".join(text)
        self._reasoning += "".join(reasoning)
        text.clear()
        reasoning.clear()

    def _take(self, event: TurnEvent) -> int:
        """Take one event; returns the lowest index it changed (the length when none)."""
        match event:
            case TurnStarted():
                self._is_working, self._waiting_for = True, WAITING
            case AnswerRestarted(attempt=attempt, attempts=attempts, reason=reason):
                self._withdraw()
                self._waiting_for = f"{reason} Asking again ({attempt} of {attempts})"
            case RequestOpened(request=request):
                return self._change(request.call_id, lambda card: replace(card, state=CardState.ASKING))
            case RequestSettled(request=request, approval=approval, cause=cause):
                return self._change(
                    request.call_id,
                    lambda card: replace(card, state=CardState.WAITING, approval=approval, cause=cause),
                )
            case CallStarted(call=call):
                self._running_since[call.id] = self._clock()
                return self._change(call.id, lambda card: replace(card, state=CardState.RUNNING))
            case CallOutput(call_id=call_id, text=more):
                return self._change(
                    call_id, lambda card: replace(card, output=(card.output + more)[-LIVE_OUTPUT_CHARS:])
                )
            case RowStored(at=at, row=row) if at.seq > self._read_to:
                return self._store(row)
            case CaughtUp(ids=ids):
                self._last_row_id = max(self._last_row_id, *ids.values())
            case TurnEnded():
                return self._end()
            case _:
                pass  # usage goes to the status bar, a passing notice to a toast: neither is part of the conversation
        return len(self.blocks)

    def _store(self, row: Message) -> int:
        if 0 < row.id <= self._last_row_id:
            return len(self.blocks)  # read from the store already, before its event came
        if not is_temporary(row.id):
            self._last_row_id = max(self._last_row_id, row.id)
        if row.role is Role.ASSISTANT:
            self._withdraw()
            self._waiting_for = WAITING
        result = row.result
        if result is not None and result.call_id in self._unsettled:
            index = self._change(result.call_id, lambda card: card_of_result(row, card))
            self._unsettled.discard(result.call_id)
            self._running_since.pop(result.call_id, None)
            return index
        first = len(self.blocks)
        origin = Origin(row.id, row.created_at)
        for block in blocks_of(row):
            self.origins.append(origin)
            if isinstance(block, ToolCard) and not block.is_ended:
                self._cards[block.call_id] = len(self.blocks)
                self._unsettled.add(block.call_id)
            self.blocks.append(block)
        self._settled = len(self.blocks)
        return first

    def _change(self, call_id: str, change: Callable[[ToolCard], ToolCard]) -> int:
        """Change the card of a call that has no result yet; returns its index (the length when nothing changed)."""
        if call_id not in self._unsettled:
            return len(self.blocks)
        index = self._cards[call_id]
        card = self.blocks[index]
        assert isinstance(card, ToolCard)
        changed = change(card)
        if changed is card:
            return len(self.blocks)
        self.blocks[index] = changed
        return index

    def _end(self) -> int:
        """Nothing runs any more: what has no row by now is not part of the conversation."""
        self._is_working = False
        self._running_since.clear()
        self._withdraw()
        return min((self._change(call_id, _forget_progress) for call_id in self._unsettled), default=len(self.blocks))

    def _withdraw(self) -> None:
        self._text = self._reasoning = ""

    def _tail(self) -> list[Block]:
        """The open answer, or what is waited for."""
        tail: list[Block] = []
        if self._reasoning:
            tail.append(Reasoning(self._reasoning, is_open=True))
        if self._text:
            tail.append(Answer(self._text, is_open=True))
        if not tail and self._is_working and not self._unsettled:
            tail.append(Activity(self._waiting_for))
        return tail


def _forget_progress(card: ToolCard) -> ToolCard:
    return ToolCard(card.call_id, card.name, card.shown, arguments=card.arguments)
