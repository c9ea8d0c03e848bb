"""The sessions of a list as they are read from the store, each with how it stands there."""

from __future__ import annotations

import time

from msgspec import Struct

from session.models import Session
from session.status import Status, standing_of
from session.tables import Tables

MOST_STANDINGS = 50  # how one stands takes a few reads; of those that are older than so many it is not asked


class Listed(Struct, frozen=True):
    """A stored session of a list."""

    session: Session
    standing: Status = Status.COMPLETE


def listed(tables: Tables, limit: int, before: tuple[float, str] | None = None) -> list[Listed]:
    """The sessions last worked in, newest first, and what is pinned, however old.

    The next page is `before` the (last_activity_at, id) of the last one that is not pinned.
    """
    newest = tables.sessions.listing(limit, before=before)
    if before is not None:
        return [Listed(session) for session in newest]
    known, now = {session.id for session in newest}, time.time()
    pinned = [one for one in tables.sessions.pinned() if one.id not in known and not one.is_archived]
    told = [*newest[:MOST_STANDINGS], *pinned]
    standings = {session.id: standing_of(tables, session.id, now) for session in told}
    return [Listed(one, standings.get(one.id, Status.COMPLETE)) for one in (*newest, *pinned)]
