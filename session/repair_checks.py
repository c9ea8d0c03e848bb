"""What can be wrong in a store that opens, a class a kind: how it is found, and how it is mended where it can be.

Nothing that was said is ever changed or removed by it, but what a person had deleted.
"""

from __future__ import annotations

import sqlite3
from typing import Protocol

from msgspec import Struct, convert

from session.connection import Connection, Patience
from session.db import SessionDB
from session.deletion import TABLES, remove_rows
from session.errors import FailedWrite, UnusableDatabase, UserError
from session.integrity import Integrity, integrity
from session.invariants import violations
from session.lease import is_held
from session.models import Finish, Session, TitleSource
from session.process import this_process
from session.search_index import index_next
from session.session_row import COLUMNS, SessionRow, readable_session
from session.settlement import is_unsettled, settle
from session.tables import Tables

PROCESS_DIED = "hermes ended before this was answered"
UNSETTLED = "A process ended in the middle of a turn, and what it left is not settled"
MOST_OF_SESSION = 20  # faults of one session that are listed

SAID_IN = ("messages", "partials", "queued")  # the tables that hold a person's or a model's words
MARKED_IN = tuple(table for table in TABLES if table not in SAID_IN)


class Fault(Struct, frozen=True):
    """One thing that is wrong, in a session or, where that is "", in the file."""

    what: str
    session_id: str = ""


class Check(Protocol):
    """One kind of fault."""

    can_mend: bool  # of what was found last, anything

    def find(self, db: SessionDB) -> list[Fault]:
        """A second time it may look only where there was something the first time."""
        ...

    def mend(self, db: SessionDB, now: float) -> None: ...


class FileCheck:
    """Pages that do not hold together. An index can be made anew from its table, a table from nothing."""

    def __init__(self) -> None:
        self.is_finished = True
        self.can_mend = False

    def find(self, db: SessionDB) -> list[Fault]:
        try:
            found = db.read(lambda tables: integrity(tables.connection)).result()
        except UnusableDatabase as error:  # not even the reading transaction could be ended
            found = Integrity((str(error.values["reason"]),))
        self.is_finished = found.is_finished
        self.can_mend = all(" index " in fault for fault in found.faults)
        return [Fault(f"SQLite says of the file: {fault}") for fault in found.faults]

    def mend(self, db: SessionDB, now: float) -> None:
        try:
            db.write(lambda tables: tables.connection.run("REINDEX")).result()
        except (UserError, sqlite3.IntegrityError):
            return  # what is left of it is found again, and told


class IndexCheck:
    """A search index that lacks rows, has too many, or cannot be read."""

    can_mend: bool = True

    def find(self, db: SessionDB) -> list[Fault]:
        try:
            self._catch_up(db)
            is_whole = db.write(lambda tables: tables.search.is_whole()).result()
        except (FailedWrite, sqlite3.IntegrityError):  # the second is FTS5's word for tables that are not its own
            is_whole = False
        return [] if is_whole else [Fault("The search index is not that of the messages")]

    def mend(self, db: SessionDB, now: float) -> None:
        db.write(lambda tables: tables.search.begin_anew()).result()
        self._catch_up(db)

    def _catch_up(self, db: SessionDB) -> None:
        """The index follows the rows by itself, but nobody knows when it is done."""
        while db.write(lambda tables: index_next(tables.connection)).result():
            pass


class StrayCheck:
    """Words without a session: they get one. Marks without a session mean nothing, and go.

    A process that begins a session takes its lease first: that is no stray.
    """

    def __init__(self, now: float) -> None:
        self._now = now
        self.can_mend = True

    def find(self, db: SessionDB) -> list[Fault]:
        said = db.read(lambda tables: strays(tables.connection, SAID_IN)).result()
        marked = db.read(lambda tables: stray_marks(tables, self._now)).result()
        return [
            *(Fault("There are words of a session that is missing itself", id_) for id_ in said),
            *(Fault("There are marks about a session that is missing", id_) for id_ in marked if id_ not in said),
        ]

    def mend(self, db: SessionDB, now: float) -> None:
        db.write(lambda tables: take_in_strays(tables, now)).result()


def strays(connection: Connection, tables: tuple[str, ...]) -> list[str]:
    """The ids of sessions that are missing."""
    found = " UNION ".join(f"SELECT session_id FROM {table}" for table in tables)
    return [str(id_) for (id_,) in connection.rows(f"{found} EXCEPT SELECT id FROM sessions")]


def take_in_strays(tables: Tables, now: float) -> None:
    for id_ in strays(tables.connection, SAID_IN):
        first, last = tables.connection.row(
            "SELECT min(created_at), max(created_at) FROM messages WHERE session_id = ?", id_
        ) or (None, None)
        created_at, last_activity_at = (at if isinstance(at, float) else now for at in (first, last))
        title = f"Recovered {id_}"
        tables.sessions.create(
            Session(id_, "unknown", title, TitleSource.DERIVED, "", "", created_at, last_activity_at)
        )
    for id_ in stray_marks(tables, now):
        for table in MARKED_IN:
            tables.connection.run(f"DELETE FROM {table} WHERE session_id = ?", id_)


def stray_marks(tables: Tables, now: float) -> list[str]:
    return [id_ for id_ in strays(tables.connection, MARKED_IN) if not is_worked_in(tables, id_, now)]


class DeletedCheck:
    """Rows of a session that a person deleted: they are removed, as they were to be."""

    can_mend: bool = True

    def find(self, db: SessionDB) -> list[Fault]:
        found = db.read(lambda tables: unburied(tables.connection)).result()
        return [Fault("It was deleted, and something of it is still there", id_) for id_ in found]

    def mend(self, db: SessionDB, now: float) -> None:
        for session_id in db.read(lambda tables: unburied(tables.connection)).result():
            db.write(lambda tables, id_=session_id: remove_rows(tables.connection, id_)).result()


def unburied(connection: Connection) -> list[str]:
    found = " UNION ".join(f"SELECT session_id FROM {table}" for table in TABLES)
    sql = f"SELECT id FROM sessions WHERE end_reason = 'deleted' AND id IN ({found})"
    return [str(id_) for (id_,) in connection.rows(sql)]


class SessionRowCheck:
    """Sessions whose own row cannot be read. Their messages can."""

    can_mend: bool = False

    def find(self, db: SessionDB) -> list[Fault]:
        return db.read(lambda tables: unreadable_sessions(tables.connection)).result()

    def mend(self, db: SessionDB, now: float) -> None:
        raise AssertionError("nothing of it can be mended")


def unreadable_sessions(connection: Connection) -> list[Fault]:
    found: list[Fault] = []
    for row in connection.each(f"SELECT {COLUMNS} FROM sessions"):
        try:
            readable_session(convert(row, SessionRow))
        except ValueError as error:
            found.append(Fault(f"The row of the session is damaged: {error}", str(row[0])))
    return found


class ConversationCheck:
    """What breaks a rule that always holds of a session. What a dead process left behind is settled, as at an opening."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._suspects: list[str] | None = None  # None: all of them
        self._unsettled: list[str] = []
        self.can_mend = False

    def find(self, db: SessionDB) -> list[Fault]:
        suspects = self._suspects
        if suspects is None:
            suspects = db.read(lambda tables: living(tables.connection)).result()
        faults = [
            fault for id_ in suspects for fault in db.read(lambda tables, id_=id_: self._of(tables, id_)).result()
        ]
        self._suspects = list(dict.fromkeys(fault.session_id for fault in faults))
        self._unsettled = [fault.session_id for fault in faults if fault.what == UNSETTLED]
        self.can_mend = bool(self._unsettled)
        return faults

    def mend(self, db: SessionDB, now: float) -> None:
        for session_id in self._unsettled:
            db.write(
                lambda tables, id_=session_id: settle_dead(tables, id_, now), patience=Patience.TRANSCRIPT
            ).result()

    def _of(self, tables: Tables, session_id: str) -> list[Fault]:
        if is_worked_in(tables, session_id, self._now):
            return []  # what is wrong in the middle of a turn is right at its end
        broken = [f"Broken rule: {violation}" for violation in violations(tables, session_id)]
        if len(broken) > MOST_OF_SESSION:
            broken[MOST_OF_SESSION:] = [f"And {len(broken) - MOST_OF_SESSION} more"]
        unsettled = [UNSETTLED] if is_left_behind(tables, session_id) else []
        return [Fault(what, session_id) for what in (*unsettled, *broken)]


def living(connection: Connection) -> list[str]:
    return [str(id_) for (id_,) in connection.rows("SELECT id FROM sessions WHERE end_reason != 'deleted'")]


def is_worked_in(tables: Tables, session_id: str, now: float) -> bool:
    lease = tables.leases.of(session_id)
    return lease is not None and is_held(lease, this_process(), now)


def is_left_behind(tables: Tables, session_id: str) -> bool:
    """Whether a turn is to be settled. One that only waits for a person is asked again when its session is opened."""
    is_waiting = bool(tables.approvals.waiting(session_id)) and tables.turns.open_since(session_id) is not None
    return not is_waiting and is_unsettled(tables, session_id)


def settle_dead(tables: Tables, session_id: str, now: float) -> None:
    """Settle what is left of a turn, unless a process took the session up meanwhile."""
    if not is_worked_in(tables, session_id, now):
        settle(tables, session_id, finish=Finish.CUT, cause=PROCESS_DIED, at=now, keep_waiting=True)
