"""What happens in a turn, as data: the only language between a runtime and those who watch it.

A row is durable before the event that announces it is published, unless that event says otherwise. Deltas are the only events that stand for no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from agent.context.meter import ContextFigure
from session.models import (
    Approval,
    ApprovalRequest,
    ExitReason,
    Level,
    Message,
    ToolCall,
    Usage,
)


class Stamp(Struct, frozen=True):
    """Where an event belongs: profile, session, and its number in that session's run (rising by one)."""

    profile: str
    session: str
    seq: int


class TurnStarted(Struct, frozen=True):
    at: Stamp


class TextDelta(Struct, frozen=True):
    """More of the answer."""

    at: Stamp
    text: str


class ReasoningDelta(Struct, frozen=True):
    """More of the model's thinking."""

    at: Stamp
    text: str


class AnswerRestarted(Struct, frozen=True):
    """The stream broke and is asked again: what was shown of this answer is withdrawn, never appended to."""

    at: Stamp
    attempt: int  # the attempt that begins now, counted from 1
    attempts: int  # how many there may be
    reason: str
    wait_s: float


class CallStarted(Struct, frozen=True):
    """A tool call is about to run. `shown` is what a person reads."""

    at: Stamp
    call: ToolCall
    shown: str


class CallOutput(Struct, frozen=True):
    """More output of a running call, decoded, otherwise as the program wrote it."""

    at: Stamp
    call_id: str
    text: str


class RequestOpened(Struct, frozen=True):
    """A call waits for a person's word."""

    at: Stamp
    request: ApprovalRequest


class RequestSettled(Struct, frozen=True):
    """A request was answered, or withdrawn with a cause."""

    at: Stamp
    request: ApprovalRequest
    approval: Approval
    cause: str


class RowStored(Struct, frozen=True):
    """A row of the transcript is in the store, or in memory alone while the disk takes no writes (`durable` is False)."""

    at: Stamp
    row: Message
    durable: bool = True


class CaughtUp(Struct, frozen=True):
    """The disk takes writes again, and all that waited is in the store. `ids` are those of rows there, by the temporary
    ones they had."""

    at: Stamp
    ids: Mapping[int, int]


class RowsReplaced(Struct, frozen=True):
    """Rows were taken out of the conversation, or brought back, by a compaction, its undoing or another process:
    `OpenSession.rows` holds it as it is now."""

    at: Stamp


class Why(StrEnum):
    """Why a conversation is compacted."""

    ASKED = "asked"  # the person said so
    FULL = "full"  # it reached the threshold
    REFUSED = "refused"  # its server refused it for its size


class CompactionStarted(Struct, frozen=True):
    """The conversation is being made smaller: a model summarises what is to leave it. `tokens` is how large it is."""

    at: Stamp
    why: Why
    tokens: int


class CompactionEnded(Struct, frozen=True):
    """It is over: `rows` rows left the conversation, which had `before` tokens and has `after`.

    Where it came to nothing, `rows` is 0 and `error` says why, as a sentence. That sentence is told to the person by a
    notice, too, unless it was told before.
    """

    at: Stamp
    before: int
    after: int
    rows: int
    error: str = ""


class RestoreMoved(Struct, frozen=True):
    """Files are being changed back, `done` of `total`, or that is over: then `done` is None."""

    at: Stamp
    done: int | None
    total: int = 0


class UsageRead(Struct, frozen=True):
    """The provider counted a request. `turn` sums this turn's requests."""

    at: Stamp
    usage: Usage
    turn: Usage
    context: ContextFigure


class Notice(Struct, frozen=True):
    """Something to tell the person now, that is not part of the conversation."""

    at: Stamp
    level: Level
    text: str


class SessionNamed(Struct, frozen=True):
    """The session has another title, which nobody asked for: `OpenSession.session` holds it."""

    at: Stamp


class QueueChanged(Struct, frozen=True):
    """What waits behind the running turn is other than it was, by itself: `Runtime.queue` says what it is now."""

    at: Stamp


class TurnEnded(Struct, frozen=True):
    """The turn is over; nothing of it still runs. `error_kind` and `error` are empty unless something failed."""

    at: Stamp
    reason: ExitReason
    error_kind: str = ""
    error: str = ""


TurnEvent = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | AnswerRestarted
    | CallStarted
    | CallOutput
    | RequestOpened
    | RequestSettled
    | RowStored
    | CaughtUp
    | RowsReplaced
    | CompactionStarted
    | CompactionEnded
    | RestoreMoved
    | UsageRead
    | Notice
    | SessionNamed
    | QueueChanged
    | TurnEnded
)
