"""A session as a row of its table, and back."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, ValidationError, convert

from session.connection import SqlRow, SqlValue
from session.json_columns import UnreadableColumn, decode_route, encode_route
from session.models import EndReason, Kind, Route, Session, TitleSource

COLUMNS = """id, source, title, title_source, cwd, workspace, created_at, last_activity_at, route, personality, ended_at,
    end_reason, parent_id, kind, branched_at, profile, pinned, archived, last_read_at, prompt_hash, rewinds, revision,
    anchors, compaction, mode"""
INSERT = f"INSERT INTO sessions ({COLUMNS}) VALUES ({', '.join('?' for _ in COLUMNS.split(','))})"


def session_values(session: Session) -> tuple[SqlValue, ...]:
    """What `INSERT` stores of a session."""
    return (
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
        session.parent_id,
        session.kind,
        session.branched_at,
        session.profile,
        int(session.is_pinned),
        int(session.is_archived),
        session.last_read_at,
        session.prompt_hash,
        session.rewinds,
        session.revision,
        session.anchors,
        session.compaction,
        session.mode,
    )


class SessionRow(Struct, frozen=True, array_like=True):
    """The types of `COLUMNS`, in their order. msgspec checks them ten times as fast as a `match` on a tuple would."""

    id: str
    source: str
    title: str
    title_source: TitleSource
    cwd: str
    workspace: str
    created_at: float
    last_activity_at: float
    route: str
    personality: str
    ended_at: float | None
    end_reason: str
    parent_id: str
    kind: Kind
    branched_at: int
    profile: str
    pinned: int
    archived: int
    last_read_at: float
    prompt_hash: str
    rewinds: int
    revision: int
    anchors: str
    compaction: str
    mode: str


def decode_session(row: SqlRow) -> Session:
    """A row as a session; one that cannot be read keeps its id, so that its messages can still be opened."""
    try:
        return readable_session(convert(row, SessionRow))
    except (ValidationError, ValueError) as error:
        return Session(str(row[0]), "", f"[damaged row {row[0]}: {error}]", TitleSource.PERSON, "", "", 0.0, 0.0)


def readable_session(row: SessionRow) -> Session:
    """Raises ValueError where a session ended for no reason we know."""
    return Session(
        row.id,
        row.source,
        row.title,
        row.title_source,
        row.cwd,
        row.workspace,
        row.created_at,
        row.last_activity_at,
        readable_route(row.route),
        row.personality,
        row.ended_at,
        EndReason(row.end_reason) if row.end_reason else None,
        row.parent_id,
        row.kind,
        row.branched_at,
        row.profile,
        bool(row.pinned),
        bool(row.archived),
        row.last_read_at,
        row.prompt_hash,
        row.rewinds,
        row.revision,
        row.anchors,
        row.compaction,
        row.mode,
    )


@lru_cache(maxsize=256)  # a list holds the same few routes over and over
def readable_route(column: str) -> Route | None:
    """The route; None where it is damaged, as a session without one is routed anew."""
    try:
        return decode_route(column)
    except UnreadableColumn:
        return None
