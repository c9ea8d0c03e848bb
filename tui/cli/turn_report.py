"""What one turn came to, for programs: the JSON object of `hermes chat --json` and the exit code."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from agent.config.masking import Masking
from agent.context.meter import ContextFigure, FigureSource
from session.models import CallResult, ExitReason, Finish, Message, Role, ToolCall, Usage

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

    @property
    def last(self) -> Message | None:
        """The last thing the model said."""
        return next((row for row in reversed(self.rows) if row.role is Role.ASSISTANT), None)

    def as_json(self, masking: Masking) -> str:
        """Keys may be added to this object, never renamed: others build on it."""
        last = self.last
        spoken = [row for row in self.rows if row.role is Role.ASSISTANT]
        record = masking.deep(
            {
                "session_id": self.session_id,
                "text": last.content if last else "",
                "reasoning": "\n\n".join(row.reasoning for row in spoken if row.reasoning),
                "refusal": last.refusal if last else "",
                "cut": last is not None and last.finish in _NOT_WHOLE,
                "finish": last.finish if last else None,
                "tool_calls": self._calls(spoken),
                "usage": asdict(self.usage),
                "context": asdict(self.context),
                "exit_reason": self.reason,
                "error": asdict(self.failure) if self.failure else None,
            }
        )
        return json.dumps(record, ensure_ascii=False)

    def _calls(self, spoken: Sequence[Message]) -> list[dict[str, object]]:
        results = {row.result.call_id: row.result for row in self.rows if row.result is not None}
        return [_call_record(call, results.get(call.id)) for row in spoken for call in row.calls]


def exit_code(reason: ExitReason, signalled: int | None) -> int:
    """The one place that decides it. `signalled` is 128 and the signal that asked for the end.

    An interruption is judged before a failure: it often causes one.
    """
    if signalled is not None:
        return signalled
    match reason:
        case ExitReason.COMPLETED:
            return 0
        case ExitReason.INTERRUPTED:
            return 130
        case _:
            return 1


def _call_record(call: ToolCall, result: CallResult | None) -> dict[str, object]:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": _arguments(call.arguments),
        "approval": result.approval if result else "not_asked",
        "outcome": result.outcome if result else "interrupted",
        "exit_code": result.exit_code if result else None,
    }


def _arguments(raw: str) -> object:
    """The object that the model wrote, or its text as it stands."""
    try:
        value: object = json.loads(raw)
    except ValueError:
        return raw
    return value if isinstance(value, dict) else raw  # pyright: ignore[reportUnknownVariableType]
