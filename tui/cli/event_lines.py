"""The lines of `hermes chat --stream-json`: one JSON object for each event. docs/headless.md tells what they hold."""

from __future__ import annotations

import json

from msgspec.structs import asdict

from agent.config.masking import Masking
from agent.events import (
    AnswerRestarted,
    CallOutput,
    CallStarted,
    CaughtUp,
    CompactionEnded,
    CompactionStarted,
    Notice,
    QueueChanged,
    ReasoningDelta,
    RequestOpened,
    RequestSettled,
    RestoreMoved,
    RowsReplaced,
    RowStored,
    SessionNamed,
    TextDelta,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    UsageRead,
)
from session.models import ApprovalRequest, CallResult, Message, ToolCall

Record = dict[str, object]


def event_line(event: TurnEvent, masking: Masking) -> str:
    """Types and keys may be added, never renamed: others build on them."""
    kind, said = _told(event)
    record = {"type": kind, "session_id": event.at.session, "seq": event.at.seq, **said}
    return json.dumps(masking.deep(record), ensure_ascii=False)


def _told(event: TurnEvent) -> tuple[str, Record]:
    match event:
        case TextDelta(text=text):
            return "text", {"text": text}
        case ReasoningDelta(text=text):
            return "reasoning", {"text": text}
        case CallOutput(call_id=call_id, text=text):
            return "call_output", {"call_id": call_id, "text": text}
        case CallStarted(call=call, shown=shown):
            return "call_started", {"call": _call(call), "shown": shown}
        case RowStored(row=row, durable=durable):
            return "row", {"row": _row(row), "is_stored": durable}
        case UsageRead(usage=usage, turn=turn, context=context):
            return "usage", {"request": asdict(usage), "turn": asdict(turn), "context": asdict(context)}
        case Notice(level=level, text=text):
            return "notice", {"level": level, "text": text}
        case AnswerRestarted(attempt=attempt, attempts=attempts, reason=reason, wait_s=wait_s):
            return "restarted", {"attempt": attempt, "attempts": attempts, "reason": reason, "wait_s": wait_s}
        case RequestOpened(request=request):
            return "request", {"request": _request(request)}
        case RequestSettled(request=request, approval=approval, cause=cause):
            return "request_settled", {"request_id": request.id, "approval": approval, "cause": cause}
        case CompactionStarted(why=why, tokens=tokens):
            return "compaction_started", {"why": why, "tokens": tokens}
        case CompactionEnded(before=before, after=after, rows=rows, error=error):
            return "compaction_ended", {"before": before, "after": after, "rows": rows, "error": error}
        case RestoreMoved(done=done, total=total):
            return "restore_moved", {"done": done, "total": total}
        case TurnEnded(reason=reason, error_kind=kind, error=error):
            return "turn_ended", {"exit_reason": reason, "error": {"kind": kind, "message": error} if error else None}
        case CaughtUp(ids=ids):
            return "caught_up", {"ids": {str(was): now for was, now in ids.items()}}
        case TurnStarted():
            return "turn_started", {}
        case RowsReplaced():
            return "rows_replaced", {}
        case SessionNamed():
            return "named", {}
        case QueueChanged():
            return "queue_changed", {}


def _row(row: Message) -> Record:
    return {
        "id": row.id,
        "role": row.role,
        "text": row.content,
        "reasoning": row.reasoning,
        "refusal": row.refusal,
        "finish": row.finish,
        "tool_calls": [_call(call) for call in row.calls],
        "result": _result(row.result) if row.result else None,
        "level": row.level,
        "created_at": row.created_at,
    }


def _call(call: ToolCall) -> Record:
    """The arguments are the text that the model wrote, which need not be JSON."""
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _result(result: CallResult) -> Record:
    return {
        "call_id": result.call_id,
        "name": result.tool,
        "outcome": result.outcome,
        "approval": result.approval,
        "exit_code": result.exit_code,
        "cause": result.cause,
        "duration_s": result.duration_s,
    }


def _request(request: ApprovalRequest) -> Record:
    return {"id": request.id, "call_id": request.call_id, "name": request.tool, "shown": request.shown}
