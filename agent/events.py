"""What happens in a turn, as data: the only language between a runtime and those who watch it.

A row is durable before the event that announces it is published. Deltas are the only events that stand for no row.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where an event belongs: profile, session, and its number in that session's run (rising by one)."""

    profile: str
    session: str
    seq: int


@dataclass(frozen=True, slots=True)
class TurnStarted:
    at: Stamp


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    at: Stamp
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's thinking."""

    at: Stamp
    text: str


@dataclass(frozen=True, slots=True)
class AnswerRestarted:
    """The stream broke and is asked again: what was shown of this answer is withdrawn, never appended to."""

    at: Stamp
    attempt: int  # the attempt that begins now, counted from 1
    attempts: int  # how many there may be
    reason: str
    wait_s: float


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call is about to run. `shown` is what a person reads."""

    at: Stamp
    call: ToolCall
    shown: str


@dataclass(frozen=True, slots=True)
class CallOutput:
    """More output of a running call, decoded, otherwise as the program wrote it."""

    at: Stamp
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class RequestOpened:
    """A call waits for a person's word."""

    at: Stamp
    request: ApprovalRequest


@dataclass(frozen=True, slots=True)
class RequestSettled:
    """A request was answered, or withdrawn with a cause."""

    at: Stamp
    request: ApprovalRequest
    approval: Approval
    cause: str


@dataclass(frozen=True, slots=True)
class RowStored:
    """A row of the transcript is in the store (`durable` is False while the disk takes no writes)."""

    at: Stamp
    row: Message
    durable: bool = True


@dataclass(frozen=True, slots=True)
class UsageRead:
    """The provider counted a request. `turn` sums this turn's requests."""

    at: Stamp
    usage: Usage
    turn: Usage
    context: ContextFigure


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the person now, that is not part of the conversation."""

    at: Stamp
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
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
    | UsageRead
    | Notice
    | TurnEnded
)
