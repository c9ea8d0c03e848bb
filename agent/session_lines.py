"""The sessions of a list: as they are read from the store, each with how it stands there, and as they are shown."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from agent.runtime import Runtime
from agent.session_run import Live
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


class SessionLine(Struct, frozen=True):
    """A session as a list shows it. `is_unread`: something ended here that nobody has looked at."""

    session: Session
    state: Live
    is_unread: bool
    asking: int  # requests that wait for an answer
    is_deleted: bool = False  # it is still open here, and belongs into no list
    standing: Status = Status.COMPLETE  # of one that another process works in, or that is not open here
    working_since: float | None = None  # on the clock of `Runtime.working_since`


def line_of(runtime: Runtime, is_unread: bool, asking: int) -> SessionLine:
    """Of a session that is open here."""
    elsewhere = runtime.elsewhere.standing if runtime.elsewhere is not None else Status.COMPLETE
    since = runtime.working_since
    return SessionLine(runtime.s.session, runtime.state, is_unread, asking, runtime.is_deleted, elsewhere, since)


def with_open(
    lines: Sequence[SessionLine], opened: Sequence[SessionLine], runtimes: Mapping[str, Runtime]
) -> list[SessionLine]:
    """Before the stored sessions those that are not stored yet, behind them those that are too old to be listed."""
    listed = {line.session.id for line in lines}
    others = [line for line in opened if line.session.id not in listed]
    unstored = [line for line in others if not runtimes[line.session.id].s.is_stored]
    listed_here = (line for line in others if not line.is_deleted and not line.session.is_archived)
    return [*unstored, *lines, *(line for line in listed_here if line not in unstored)]
