"""One turn at a time in a session, whichever process on whichever machine runs it: a row says who does."""

from __future__ import annotations

from msgspec import Struct

from session.connection import Connection, SqlRow
from session.errors import LeaseLost, SessionDeleted
from session.listing import SessionLists
from session.process import Process, runs, this_process

BEAT_S = 10.0
SILENT_S = 30.0  # after which a holder that can't be seen from here counts as dead

COLUMNS = "session_id, token, front, host, host_name, boot, pid_namespace, pid, process_started, taken_at, beat_at"

_in_use: set[str] = set()  # the tokens under which this process is at work


class Claim(Struct, frozen=True):
    """The wish of this process for one session, under a token of its own."""

    session_id: str
    token: str
    front: str  # which front end: tui, chat, …


class Lease(Struct, frozen=True):
    """A claim that was granted: to whom, when, and when that one last gave a sign. Times in seconds since the epoch."""

    claim: Claim
    holder: Process
    taken_at: float
    beat_at: float


class Leases:
    """Verbs on who works in which session."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def take(self, claim: Claim, at: float) -> Lease | None:
        """Grant the claim, or nothing changes and the lease that stands in its way comes back.

        A session that is not stored yet can be claimed, too. Raises SessionDeleted.
        """
        self._refuse_deleted(claim.session_id)
        standing = self.of(claim.session_id)
        me = this_process()
        if standing is not None and is_held(standing, me, at):
            return standing
        self._connection.run(
            f"INSERT OR REPLACE INTO leases ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(claim.session_id, claim.token, claim.front),
            *(me.host, me.host_name, me.boot, me.pid_namespace, me.pid, me.started),
            *(at, at),
        )
        _in_use.add(claim.token)
        return None

    def beat(self, claim: Claim, at: float) -> bool:
        """Give a sign. False where the lease went to somebody else. Raises SessionDeleted."""
        self._refuse_deleted(claim.session_id)
        sql = "UPDATE leases SET beat_at = ? WHERE session_id = ? AND token = ?"
        return self._connection.run(sql, at, claim.session_id, claim.token) == 1

    def refuse_lost(self, claim: Claim, at: float) -> None:
        """Before a write of a turn: raises LeaseLost where another process may be at work in the session by now."""
        standing, me = self.of(claim.session_id), this_process()
        if standing is not None and standing.holder != me and is_held(standing, me, at):
            raise LeaseLost

    def release(self, claim: Claim) -> None:
        """Give the lease back; one that went to somebody else stays theirs."""
        self._connection.run("DELETE FROM leases WHERE session_id = ? AND token = ?", claim.session_id, claim.token)

    def of(self, session_id: str) -> Lease | None:
        """The lease as it stands, also that of a process which is gone."""
        row = self._connection.row(f"SELECT {COLUMNS} FROM leases WHERE session_id = ?", session_id)
        return decode_lease(row) if row else None

    def _refuse_deleted(self, session_id: str) -> None:
        if SessionLists(self._connection).is_deleted(session_id):
            raise SessionDeleted(session_id=session_id)


def forget(claim: Claim) -> None:
    """This process is not at work under the claim any more, whether or not its row can be removed."""
    _in_use.discard(claim.token)


def is_held(lease: Lease, here: Process, now: float) -> bool:
    """Whether the holder may still be at work, as a process `here` can tell.

    A machine that slept in mid-turn keeps its leases: where the process can be seen, its beat is not asked.
    """
    if lease.claim.token in _in_use:
        return True
    if lease.holder == here and here.pid_namespace:  # without one, two containers can look the same
        return False
    is_running = runs(lease.holder, here)
    return now - lease.beat_at < SILENT_S if is_running is None else is_running


def decode_lease(row: SqlRow) -> Lease:
    session_id, token, front, host, host_name, boot, pid_namespace, pid, started, taken_at, beat_at = row
    return Lease(
        Claim(str(session_id), str(token), str(front)),
        Process(str(host), str(host_name), str(boot), str(pid_namespace), int(str(pid)), str(started)),
        float(str(taken_at)),
        float(str(beat_at)),
    )
