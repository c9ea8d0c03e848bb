"""How a conversation stands, told from its last row and its open turn."""

from __future__ import annotations

from enum import StrEnum

from session.lease import is_held
from session.models import OWN_COMMAND, Finish, Role
from session.process import this_process
from session.tables import Tables

BROKEN_OFF = (Finish.CUT, Finish.ERROR, Finish.INTERRUPTED)


class Status(StrEnum):
    """Where the last turn of a conversation ended, or how far it is."""

    COMPLETE = "complete"  # also where nothing was said yet
    CUT = "cut"  # what the person asked has no whole answer
    WAITING = "waiting"  # a question about a call waits for the person
    WORKING = "working"  # a turn is open; whether a process still runs it, its lease tells


def status(tables: Tables, session_id: str) -> Status:
    """Costs the same however long the conversation is."""
    if tables.turns.open_since(session_id) is not None:
        return Status.WAITING if tables.approvals.waiting(session_id) else Status.WORKING
    last = tables.messages.last_said(session_id)
    if last is None or last.is_summary or (last.result is not None and last.result.tool == OWN_COMMAND):
        return Status.COMPLETE
    is_whole = last.role is Role.ASSISTANT and not last.calls and last.finish not in BROKEN_OFF
    return Status.COMPLETE if is_whole else Status.CUT


def standing_of(tables: Tables, session_id: str, now: float) -> Status:
    """How it stands. A turn that nobody runs any more, because its process died, is cut: opening the session settles it."""
    found = status(tables, session_id)
    if found is not Status.WORKING:
        return found
    lease = tables.leases.of(session_id)
    is_run = lease is not None and is_held(lease, this_process(), now)
    return found if is_run else Status.CUT
