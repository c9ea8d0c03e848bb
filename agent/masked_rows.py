"""The records of a conversation with each secret in them by its name, as they are stored, shown and sent."""

from __future__ import annotations

from msgspec.structs import replace

from agent.config.masking import Masking
from session.models import CallResult, Message, Partial, Session, ToolCall


def masked_row(masking: Masking, row: Message) -> Message:
    """Also of a row that was stored before one of the secrets was known."""
    mask = masking.text
    if not masking:
        return row
    return replace(
        row,
        content=mask(row.content),
        reasoning=mask(row.reasoning),
        refusal=mask(row.refusal),
        sent=mask(row.sent),
        parts=masking.json_text(row.parts),
        extras=masking.json_text(row.extras),
        calls=tuple(masked_call(masking, call) for call in row.calls),
        result=_masked_result(masking, row.result) if row.result else None,
    )


def masked_call(masking: Masking, call: ToolCall) -> ToolCall:
    """The call as it may be seen; it says so where that is not the call that was to run."""
    name, arguments = masking.text(call.name), masking.json_text(call.arguments)
    is_masked = call.is_masked or (name, arguments) != (call.name, call.arguments)
    return replace(call, name=name, arguments=arguments, is_masked=is_masked)


def masked_part(masking: Masking, part: Partial) -> Partial:
    return Partial(masking.text(part.content), masking.text(part.reasoning), masking.text(part.refusal))


def masked_session(masking: Masking, session: Session) -> Session:
    return replace(session, title=masking.text(session.title))


def _masked_result(masking: Masking, result: CallResult) -> CallResult:
    return replace(result, tool=masking.text(result.tool), cause=masking.text(result.cause))
