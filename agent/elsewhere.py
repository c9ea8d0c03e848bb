"""What other processes did to the sessions that are open in this one."""

from __future__ import annotations

import asyncio
import logging
import time

from msgspec import Struct
from msgspec.structs import replace

from agent.config.masking import Masking
from agent.masked_rows import masked_row, masked_session
from agent.open_session import OpenSession
from session.errors import UserError
from session.lease import Lease, is_held
from session.models import Message, Session
from session.process import this_process
from session.status import Status, status
from session.tables import Tables

log = logging.getLogger(__name__)


class Known(Struct, frozen=True):
    """How far a session is known here."""

    revision: int
    last_row_id: int


class WorkedIn(Struct, frozen=True):
    """Another process works in a session. `standing` is waiting where it asks the person something, else working."""

    lease: Lease
    standing: Status

    @property
    def process(self) -> str:
        """As a person can find it."""
        holder = self.lease.holder
        where = "" if holder.host == this_process().host else f" on {holder.host_name}"
        return f"process {holder.pid}{where}"


class Seen(Struct, frozen=True):
    """A session as it stands in the store: None where it was deleted. `rows` are the new ones, or all of a new revision.

    `unqueued` are the queued rows known here that are there no more.
    """

    session_id: str
    known: Known
    session: Session | None
    rows: list[Message]
    unqueued: frozenset[int]
    worked_in: WorkedIn | None = None


def known_of(s: OpenSession) -> Known:
    return Known(s.session.revision, s.last_row_id)


def look_at(tables: Tables, session_id: str, known: Known, queued: frozenset[int]) -> Seen:
    """`queued` are the queued rows that were known before: what came since may not be there yet to be seen."""
    session = tables.sessions.get(session_id)
    is_revised = session is not None and session.revision != known.revision
    rows = tables.messages.all(session_id) if is_revised else tables.messages.after(session_id, known.last_row_id)
    unqueued = queued.difference(row.id for row in tables.queued.all(session_id))
    return Seen(session_id, known, session, rows, unqueued, worked_in(tables, session_id))


def worked_in(tables: Tables, session_id: str) -> WorkedIn | None:
    """Who works in a session in which nothing runs here."""
    lease = tables.leases.of(session_id)
    if lease is None or not is_held(lease, this_process(), time.time()):
        return None
    is_waiting = status(tables, session_id) is Status.WAITING
    return WorkedIn(lease, Status.WAITING if is_waiting else Status.WORKING)


def masked_seen(masking: Masking, seen: Seen) -> Seen:
    session = masked_session(masking, seen.session) if seen.session else None
    return replace(seen, session=session, rows=[masked_row(masking, row) for row in seen.rows])


async def worked_in_now(s: OpenSession) -> WorkedIn | None:
    """The same, asked of the store; None also where that can't be read."""
    try:
        return await asyncio.wrap_future(s.parts.db.read(lambda tables: worked_in(tables, s.id)))
    except UserError as error:
        log.warning("who works in session %s is not known: %s", s.id, error)
        return None
