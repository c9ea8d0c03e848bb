"""The conversations themselves: one row each."""

from __future__ import annotations

import secrets
import time

from session.connection import Connection, SqlRow
from session.json_columns import UnreadableColumn, decode_route, encode_route
from session.models import EndReason, Route, Session, TitleSource

COLUMNS = """id, source, title, title_source, cwd, workspace, created_at, last_activity_at, route, personality, ended_at,
    end_reason"""


class Sessions:
    """Verbs on one session each, and the lists that a person chooses from."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, session: Session) -> None:
        """Raises sqlite3.IntegrityError when the id is taken."""
        self._connection.run(
            f"INSERT INTO sessions ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            session.id,
            session.source,
            session.title,
            int(session.title_source),
            session.cwd,
            session.workspace,
            session.created_at,
            session.last_activity_at,
            encode_route(session.route),
            session.personality,
            session.ended_at,
            session.end_reason or "",
        )

    def get(self, session_id: str) -> Session | None:
        return first(self._read("id = ?", session_id))

    def latest(self, workspace: str | None) -> Session | None:
        """The session last active, in one workspace or in any; one that was ended is not gone back to."""
        return first(
            self._read(
                "ended_at IS NULL AND (? IS NULL OR workspace = ?) ORDER BY last_activity_at DESC, id DESC LIMIT 1",
                workspace,
                workspace,
            )
        )

    def listing(self, limit: int = 50, offset: int = 0) -> list[Session]:
        """All but deleted sessions, the last active one first."""
        return self._read(
            "end_reason != ? ORDER BY last_activity_at DESC, id DESC LIMIT ? OFFSET ?", EndReason.DELETED, limit, offset
        )

    def count(self) -> int:
        """How many sessions `listing` would give in all."""
        return int(
            str(self._connection.value("SELECT count(*) FROM sessions WHERE end_reason != ?", EndReason.DELETED))
        )

    def set_title(self, session_id: str, title: str, source: TitleSource) -> bool:
        """Replace a title that comes from the same or a lower source; False where the stored one stands above."""
        changed = self._connection.run(
            "UPDATE sessions SET title = ?, title_source = ? WHERE id = ? AND title_source <= ?",
            title,
            int(source),
            session_id,
            int(source),
        )
        return changed == 1

    def set_route(self, session_id: str, route: Route) -> None:
        self._connection.run("UPDATE sessions SET route = ? WHERE id = ?", encode_route(route), session_id)

    def set_personality(self, session_id: str, name: str) -> None:
        self._connection.run("UPDATE sessions SET personality = ? WHERE id = ?", name, session_id)

    def end(self, session_id: str, reason: EndReason, at: float) -> None:
        """Close a session for good; the first reason stands."""
        self._connection.run(
            "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL", at, reason, session_id
        )

    def _read(self, where: str, *values: str | int | None) -> list[Session]:
        return [
            decode_session(row)
            for row in self._connection.rows(f"SELECT {COLUMNS} FROM sessions WHERE {where}", *values)
        ]


def new_session_id(at: float) -> str:
    """An id that sorts by time and can be typed: 20261129-195611-4f2a (UTC)."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(at))}-{secrets.token_hex(2)}"


def first(sessions: list[Session]) -> Session | None:
    return sessions[0] if sessions else None


def decode_session(row: SqlRow) -> Session:
    """A row as a session; one that cannot be read keeps its id, so that its messages can still be opened."""
    try:
        return readable_session(row)
    except ValueError as error:
        return Session(str(row[0]), "", f"[damaged row {row[0]}: {error}]", TitleSource.PERSON, "", "", 0.0, 0.0)


def readable_session(row: SqlRow) -> Session:
    """Raises ValueError where a column does not hold what `create` writes."""
    match row:
        case (
            str(id_),
            str(source),
            str(title),
            int(title_source),
            str(cwd),
            str(workspace),
            float(created_at),
            float(last_activity_at),
            str(route),
            str(personality),
            (float() | None) as ended_at,
            str(end_reason),
        ):
            return Session(
                id_,
                source,
                title,
                TitleSource(title_source),
                cwd,
                workspace,
                created_at,
                last_activity_at,
                readable_route(route),
                personality,
                ended_at,
                EndReason(end_reason) if end_reason else None,
            )
        case _:
            raise ValueError("a column has the wrong type")


def readable_route(column: str) -> Route | None:
    """The route; None where it is damaged, as a session without one is routed anew."""
    try:
        return decode_route(column)
    except UnreadableColumn:
        return None
