"""The rows of transcripts."""

from __future__ import annotations

from session.connection import Connection, SqlRow
from session.json_columns import decode_calls, decode_usage, encode_calls, encode_usage
from session.models import Approval, CallOutcome, CallResult, Finish, Level, Message, Role

COLUMNS = """id, session_id, role, created_at, finish, level, usage, call_id, tool, outcome, approval, exit_code, cause,
    duration_s, calls, content, reasoning, refusal"""


class Messages:
    """Rows in the order they were appended. A row is never changed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, message: Message) -> Message:
        """Store a row and mark the session active; the row as it now stands in the store, with its id."""
        row_id = self._connection.insert(
            f"INSERT INTO messages ({COLUMNS}) VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            message.session_id,
            message.role,
            message.created_at,
            message.finish or "",
            message.level,
            encode_usage(message.usage),
            *result_columns(message.result),
            encode_calls(message.calls),
            message.content,
            message.reasoning,
            message.refusal,
        )
        self._connection.run(
            "UPDATE sessions SET last_activity_at = max(last_activity_at, ?) WHERE id = ?",
            message.created_at,
            message.session_id,
        )
        return self._read("id = ?", row_id)[0]

    def after(self, session_id: str, message_id: int) -> list[Message]:
        """The rows that were stored later than `message_id`."""
        return self._read("session_id = ? AND id > ? ORDER BY id", session_id, message_id)

    def all(self, session_id: str) -> list[Message]:
        return self._read("session_id = ? ORDER BY id", session_id)

    def tail(self, session_id: str, n: int) -> list[Message]:
        """The last n rows, oldest first."""
        return self._read("session_id = ? ORDER BY id DESC LIMIT ?", session_id, n)[::-1]

    def count(self, session_id: str) -> int:
        return int(str(self._connection.value("SELECT count(*) FROM messages WHERE session_id = ?", session_id)))

    def _read(self, where: str, *values: str | int) -> list[Message]:
        return [
            decode_message(row)
            for row in self._connection.rows(f"SELECT {COLUMNS} FROM messages WHERE {where}", *values)
        ]


def result_columns(result: CallResult | None) -> tuple[str | int | float | None, ...]:
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
    """A row as a message; one that cannot be read stands as a notice, so that the rest of its session still opens."""
    try:
        return readable_message(row)
    except ValueError as error:
        return damaged_message(row, str(error))


def readable_message(row: SqlRow) -> Message:
    """Raises ValueError where a column does not hold what `append` writes."""
    match row:
        case (
            int(id_),
            str(session_id),
            str(role),
            float(created_at),
            str(finish),
            str(level),
            str(usage),
            str(call_id),
            str(tool),
            str(outcome),
            str(approval),
            (int() | None) as exit_code,
            str(cause),
            float(duration_s),
            str(calls),
            str(content),
            str(reasoning),
            str(refusal),
        ):
            result = None
            if outcome:
                result = CallResult(
                    call_id, tool, CallOutcome(outcome), Approval(approval), exit_code, cause, duration_s
                )
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
            )
        case _:
            raise ValueError("a column has the wrong type")


def damaged_message(row: SqlRow, reason: str) -> Message:
    id_, session_id, _, created_at, *_ = row
    return Message(
        str(session_id),
        Role.NOTICE,
        f"[damaged row {id_}: {reason}]",
        created_at if isinstance(created_at, float) else 0.0,
        id_ if isinstance(id_, int) else 0,
        level=Level.WARNING,
    )
