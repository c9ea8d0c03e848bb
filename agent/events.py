"""What happens in a turn, as data: the only language between a runtime and those who watch it.

A row is durable before the event that announces it is published. Deltas are the only events that stand for no row.
"""

from __future__ import annotations

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
    """A row of the transcript is in the store (`durable` is False while the disk takes no writes)."""

    at: Stamp
    row: Message
    durable: bool = True


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
    | UsageRead
    | Notice
    | TurnEnded
)
