"""What other processes did to the sessions that are open in this one."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from agent.config.masking import Masking
from agent.masked_rows import masked_row, masked_session
from agent.open_session import OpenSession
from session.models import Message, Session
from session.tables import Tables


class Known(Struct, frozen=True):
    """How far a session is known here."""

    revision: int
    last_row_id: int


class Seen(Struct, frozen=True):
    """A session as it stands in the store: None where it was deleted. `rows` are the new ones, or all of a new revision.

    `unqueued` are the queued rows known here that are there no more.
    """

    session_id: str
    known: Known
    session: Session | None
    rows: list[Message]
    unqueued: frozenset[int]


def known_of(s: OpenSession) -> Known:
    return Known(s.session.revision, s.last_row_id)


def look_at(tables: Tables, session_id: str, known: Known, queued: frozenset[int]) -> Seen:
    """`queued` are the queued rows that were known before: what came since may not be there yet to be seen."""
    session = tables.sessions.get(session_id)
    is_revised = session is not None and session.revision != known.revision
    rows = tables.messages.all(session_id) if is_revised else tables.messages.after(session_id, known.last_row_id)
    unqueued = queued.difference(row.id for row in tables.queued.all(session_id))
    return Seen(session_id, known, session, rows, unqueued)


def masked_seen(masking: Masking, seen: Seen) -> Seen:
    session = masked_session(masking, seen.session) if seen.session else None
    return replace(seen, session=session, rows=[masked_row(masking, row) for row in seen.rows])
