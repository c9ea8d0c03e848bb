"""What one turn came to, for programs: the JSON object of `hermes chat --json` and the exit code. docs/headless.md tells about both."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from agent.config.masking import Masking
from agent.context.meter import ContextFigure, FigureSource
from session.models import Approval, CallResult, ExitReason, Finish, Message, Role, ToolCall, Usage

NO_USAGE = Usage()
NO_CONTEXT = ContextFigure(0, None, FigureSource.UNKNOWN)
_NOT_WHOLE = (Finish.CUT, Finish.ERROR, Finish.INTERRUPTED, Finish.LENGTH)


class Failure(Struct, frozen=True):
    """Why a turn failed or never ran. `kind` is one of the provider's error kinds."""

    kind: str
    message: str


class TurnReport(Struct, frozen=True):
    """One turn, or one that never ran: then there are no rows and `failure` says why."""

    reason: ExitReason
    session_id: str | None = None
    rows: Sequence[Message] = ()
    usage: Usage = NO_USAGE
    context: ContextFigure = NO_CONTEXT
    failure: Failure | None = None
    unstored: int = 0  # messages that are lost, because the disk took no writes

    @property
    def last(self) -> Message | None:
        """The last thing the model said."""
        return next((row for row in reversed(self.rows) if row.role is Role.ASSISTANT), None)

    @property
    def denied(self) -> Sequence[Message]:
        """The results of calls that were not allowed to run (C03)."""
        refusals = (Approval.DENIED, Approval.TIMED_OUT, Approval.CANCELLED)
        return [row for row in self.rows if row.result is not None and row.result.approval in refusals]

    def as_json(self, masking: Masking) -> str:
        """The object, on one line."""
        return json.dumps(self.record(masking), ensure_ascii=False)

    def record(self, masking: Masking) -> object:
        """Keys may be added to this object, never renamed: others build on it."""
        last = self.last
        spoken = [row for row in self.rows if row.role is Role.ASSISTANT]
        return masking.deep(
            {
                "session_id": self.session_id,
                "text": last.content if last else "",
                "reasoning": "\n\n".join(row.reasoning for row in spoken if row.reasoning),
                "refusal": last.refusal if last else "",
                "cut": last is not None and last.finish in _NOT_WHOLE,
                "finish": last.finish if last else None,
                "tool_calls": self._calls(spoken),
                "denied": [_denial_record(row) for row in self.denied],
                "usage": asdict(self.usage),
                "context": asdict(self.context),
                "exit_reason": self.reason,
                "error": asdict(self.failure) if self.failure else None,
                "unstored": self.unstored,
            }
        )

    def _calls(self, spoken: Sequence[Message]) -> list[dict[str, object]]:
        results = {row.result.call_id: row.result for row in self.rows if row.result is not None}
        return [_call_record(call, results.get(call.id)) for row in spoken for call in row.calls]


def exit_code(reason: ExitReason, signalled: int | None, *, is_stored: bool = True) -> int:
    """The one place that decides it. `signalled` is 128 and the signal that asked for the end.

    An interruption is judged before a failure: it often causes one. A turn of which something is lost has failed (E01).
    """
    if signalled is not None:
        return signalled
    match reason:
        case ExitReason.COMPLETED:
            return 0 if is_stored else 1
        case ExitReason.INTERRUPTED:
            return 130
        case _:
            return 1


def unread(sentence: str, *, is_event: bool) -> str:
    """The object of a turn that never began, because the command line was wrong."""
    report = TurnReport(ExitReason.ERROR, failure=Failure("usage", sentence))
    return (result_line if is_event else TurnReport.as_json)(report, Masking())


def result_line(report: TurnReport, masking: Masking) -> str:
    """The object as the last line of a stream of events."""
    record = report.record(masking)
    assert isinstance(record, dict)
    return json.dumps({"type": "result", **record}, ensure_ascii=False)


def _call_record(call: ToolCall, result: CallResult | None) -> dict[str, object]:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": _arguments(call.arguments),
        "approval": result.approval if result else "not_asked",
        "outcome": result.outcome if result else "interrupted",
        "exit_code": result.exit_code if result else None,
    }


def _denial_record(row: Message) -> dict[str, object]:
    assert row.result is not None
    return {
        "id": row.result.call_id,
        "name": row.result.tool,
        "approval": row.result.approval,
        "why": row.result.cause,
    }


def _arguments(raw: str) -> object:
    """The object that the model wrote, or its text as it stands."""
    try:
        value: object = json.loads(raw)
    except ValueError:
        return raw
    return value if isinstance(value, dict) else raw  # pyright: ignore[reportUnknownVariableType]
