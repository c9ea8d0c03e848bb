"""Requests for a person's word on a tool call, and what came of each."""

from __future__ import annotations

from session.connection import Connection, SqlRow
from session.deletion import require_living
from session.models import Approval, ApprovalRequest


class Approvals:
    """A request is opened once and settled once; what it was settled as never changes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def open(self, request: ApprovalRequest) -> None:
        """Raises SessionDeleted."""
        require_living(self._connection, request.session_id)
        self._connection.run(
            """
            INSERT INTO approval_requests (id, session_id, call_id, tool, shown, why, opened_at, details, approval, cause)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '')
            """,
            request.id,
            request.session_id,
            request.call_id,
            request.tool,
            request.shown,
            request.why,
            request.opened_at,
            request.details,
        )

    def settle(
        self, request_id: str, approval: Approval, cause: str, at: float, rules: str = "", edited: str = ""
    ) -> bool:
        """Settle a waiting request. False when it was settled before (or never opened): nothing changed then.

        `rules` are those that were made with a yes, a line each; `edited` is what the person made of the call.
        """
        changed = self._connection.run(
            """
            UPDATE approval_requests SET approval = ?, cause = ?, settled_at = ?, rules = ?, edited = ?
            WHERE id = ? AND settled_at IS NULL
            """,
            approval,
            cause,
            at,
            rules,
            edited,
            request_id,
        )
        return changed == 1

    def waiting(self, session_id: str) -> list[ApprovalRequest]:
        """The requests that nobody answered yet, oldest first."""
        rows = self._connection.rows(
            """
            SELECT id, session_id, call_id, tool, shown, why, opened_at, details FROM approval_requests
            WHERE session_id = ? AND settled_at IS NULL ORDER BY rowid
            """,
            session_id,
        )
        return [decode_request(row) for row in rows]

    def of_call(self, session_id: str, call_id: str) -> tuple[Approval, str] | None:
        """What was decided about a call and the cause, by the request settled last; None when none was settled."""
        row = self._connection.row(
            """
            SELECT approval, cause FROM approval_requests
            WHERE session_id = ? AND call_id = ? AND settled_at IS NOT NULL ORDER BY rowid DESC
            """,
            session_id,
            call_id,
        )
        return (Approval(str(row[0])), str(row[1])) if row else None


def decode_request(row: SqlRow) -> ApprovalRequest:
    id_, session_id, call_id, tool, shown, why, opened_at, details = row
    return ApprovalRequest(
        str(id_), str(session_id), str(call_id), str(tool), str(shown), str(why), float(str(opened_at)), str(details)
    )
