"""A message as a row of its table, and back again; one that cannot be read stands as a damaged notice (E09)."""

from __future__ import annotations

from msgspec import convert
from msgspec.structs import replace

from session.connection import Connection, SqlRow, SqlValue
from session.json_columns import (
    decode_calls,
    decode_usage,
    encode_calls,
    encode_usage,
    require_extras,
    require_parts,
)
from session.models import Approval, CallOutcome, CallResult, Finish, Level, Message, Role

# What a branch takes over from a row as it is. The rest of the columns says where a row stands, and whether it does.
CARRIED = """role, created_at, is_summary, is_mended, finish, level, usage, call_id, tool, outcome, approval, exit_code,
    cause, duration_s, calls, content, reasoning, refusal, sent, parts, extras"""
COLUMNS = f"id, session_id, active, compacted, {CARRIED}"
# The next place of all is greater than every id there is, also after rows were deleted.
INSERT = f"""INSERT INTO messages (id, position, rewound_by, {COLUMNS.removeprefix("id, ")})
    VALUES (?, coalesce(?, (SELECT coalesce(max(id), 0) + 1 FROM messages)), ?,
    {", ".join("?" for _ in COLUMNS.split(",")[1:])})"""
# Not a pattern, which takes five times as long: a conversation has thousands of rows.
Typed = tuple[
    int, str, int, int, str, float, int, int, str, str, str, str, str, str, str, int | None, str, float, str, str, str,
    str, str, str, str,
]  # fmt: skip


def insert_row(
    connection: Connection,
    message: Message,
    *,
    row_id: int | None = None,
    position: int | None = None,
    rewound_by: int = 0,
) -> tuple[int, bool]:
    """Store a row: its id, and whether halves of surrogate pairs had to be mended for it.

    It gets the next id and stands behind all others unless they are given. Raises UnreadableColumn as `row_values` does.
    """
    values = row_values(message)
    try:
        return connection.insert_exactly(INSERT, row_id, position, rewound_by, *values), False
    except UnicodeEncodeError:
        values = row_values(replace(message, is_mended=True))
        return connection.insert(INSERT, row_id, position, rewound_by, *values), True


def row_values(message: Message) -> tuple[SqlValue, ...]:
    """The values of all COLUMNS but the id. Raises UnreadableColumn for `parts` or `extras` that are not their JSON."""
    return (
        message.session_id,
        int(message.is_active),
        int(message.is_compacted),
        message.role,
        message.created_at,
        int(message.is_summary),
        int(message.is_mended),
        message.finish or "",
        message.level,
        encode_usage(message.usage),
        *result_values(message.result),
        encode_calls(message.calls),
        message.content,
        message.reasoning,
        message.refusal,
        message.sent,
        require_parts(message.parts),
        require_extras(message.extras),
    )


def result_values(result: CallResult | None) -> tuple[SqlValue, ...]:
    if result is None:
        return ("", "", "", "", None, "", 0.0)
    return (
        result.call_id,
        result.tool,
        result.outcome,
        result.approval,
        result.exit_code,
        result.cause,
        result.duration_s,
    )


def decode_message(row: SqlRow) -> Message:
    """A row of COLUMNS as a message; a damaged one as a notice in its place, so that the rest of its session still opens."""
    try:
        return readable_message(row)
    except ValueError as error:
        return damaged_message(row, str(error))


def readable_message(row: SqlRow) -> Message:
    """Raises ValueError where a column does not hold what `row_values` gives."""
    (
        id_,
        session_id,
        active,
        compacted,
        role,
        created_at,
        is_summary,
        is_mended,
        finish,
        level,
        usage,
        call_id,
        tool,
        outcome,
        approval,
        exit_code,
        cause,
        duration_s,
        calls,
        content,
        reasoning,
        refusal,
        sent,
        parts,
        extras,
    ) = convert(row, Typed)
    result = None
    if outcome:
        result = CallResult(call_id, tool, CallOutcome(outcome), Approval(approval), exit_code, cause, duration_s)
    return Message(
        session_id,
        Role(role),
        content,
        created_at,
        id_,
        reasoning,
        refusal,
        decode_calls(calls),
        Finish(finish) if finish else None,
        decode_usage(usage),
        result,
        Level(level),
        sent,
        require_parts(parts),
        require_extras(extras),
        bool(active),
        bool(compacted),
        bool(is_summary),
        bool(is_mended),
    )


def damaged_message(row: SqlRow, reason: str) -> Message:
    id_, session_id, active, compacted, _, created_at, *_ = row
    return Message(
        str(session_id),
        Role.NOTICE,
        f"[damaged row {id_}: {reason}]",
        created_at if isinstance(created_at, float) else 0.0,
        id_ if isinstance(id_, int) else 0,
        level=Level.WARNING,
        is_active=bool(active),
        is_compacted=bool(compacted),
        is_damaged=True,
    )
