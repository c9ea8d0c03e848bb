"""The conversations of hermes-agent, brought over from its state.db, which is only read.

A session keeps its id. So importing again brings what is new: sessions that are not here yet, and what was said since
in those that nobody has gone on with here.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from session.connection import Patience
from session.db import SessionDB
from session.hermes_agent_file import HermesAgentFile
from session.hermes_agent_rows import rows_of
from session.hermes_agent_sessions import Origin, origins, own_id, session_from, spendings_of
from session.imported import Imported, RefusedImport, told
from session.jsonl import Row, Spending, encode_line, what_was_said
from session.models import Kind, Session
from session.tables import Tables

ALREADY_HERE = "already here"
CHANGED = "already here, and changed since it was brought over; the one here was left as it is"
DELETED = "deleted here before"
EMPTY = "without any message"
HELPERS = "not a conversation with you but the work of a sub-agent"
UNREADABLE = "damaged in the file"


class Brought(Struct, frozen=True):
    """A session as it comes over. `kind` and `parent_id` say how it hangs on one that came before it."""

    session: Session
    rows: list[Row]
    spendings: tuple[Spending, ...]
    parent_id: str
    kind: Kind


def import_hermes_agent(db: SessionDB, path: Path) -> Imported:
    """Bring over what a state.db holds, or the one in a folder. Blocks; each session is stored whole or not at all.

    Raises RefusedImport, and BusyDatabase or FailedWrite in the middle: what came until then stays, and importing again
    goes on from there.
    """
    if path.exists() and (path / "state.db" if path.is_dir() else path).resolve() == db.path.resolve():
        raise RefusedImport(path=path, reason="it is the store that it would be imported into")
    skipped: Counter[str] = Counter()
    sessions = messages = 0
    with HermesAgentFile.open(path) as file:
        for origin in origins(file.sessions()):
            brought = read(file, origin)
            outcome = brought if isinstance(brought, str) else bring(db, brought)
            if isinstance(outcome, str):
                skipped[outcome] += 1
            else:
                sessions, messages = sessions + 1, messages + outcome
    return Imported(sessions, messages, skipped.total(), told(skipped))


def read(file: HermesAgentFile, origin: Origin) -> Brought | str:
    """The session, or why it does not come."""
    if not origin.is_own:
        return HELPERS
    session_id = own_id(origin.id)
    try:
        records, usage = file.messages(origin.id), file.usage(origin.id)
    except sqlite3.DatabaseError:
        return UNREADABLE
    rows = rows_of(records, session_id, session_from(origin.record, session_id, []).created_at)
    if not rows:
        return EMPTY
    session = session_from(origin.record, session_id, rows)
    return Brought(
        session,
        rows,
        spendings_of(origin.record, usage),
        own_id(origin.parent_id) if origin.parent_id else "",
        origin.kind,
    )


def bring(db: SessionDB, brought: Brought) -> int | str:
    """Store it; the number of rows, or why it was left out."""
    return db.write(lambda tables: store(tables, brought), patience=Patience.TRANSCRIPT).result()


def store(tables: Tables, brought: Brought) -> int | str:
    session_id = brought.session.id
    if tables.sessions.is_deleted(session_id):
        return DELETED
    if tables.sessions.get(session_id) is not None:
        return go_on(tables, brought)
    tables.sessions.create(with_parent(tables, brought))
    return fill(tables, brought, brought.rows)


def go_on(tables: Tables, brought: Brought) -> int | str:
    """What was said there since it was brought over, where the session here is still as it came."""
    session_id, held = brought.session.id, tables.transcripts.count(brought.session.id)
    here = islice(tables.transcripts.rows(session_id), len(brought.rows))
    pairs = list(zip(here, brought.rows, strict=False))
    if not all(said(ours) == said(theirs) for ours, theirs in pairs):
        return CHANGED
    if len(brought.rows) <= held:
        return ALREADY_HERE
    if not all(stands_alike(ours, theirs) for ours, theirs in pairs):
        return CHANGED
    return fill(tables, brought, brought.rows[held:])


def said(row: Row) -> str:
    """What a row says, as far as it can be stored."""
    return encode_line(what_was_said(row))


def stands_alike(ours: Row, theirs: Row) -> bool:
    return (ours.is_active, ours.is_compacted, ours.rewound_by) == (
        theirs.is_active,
        theirs.is_compacted,
        theirs.rewound_by,
    )


def fill(tables: Tables, brought: Brought, rows: list[Row]) -> int:
    session_id = brought.session.id
    tables.transcripts.set_spendings(session_id, brought.spendings)
    count = tables.transcripts.add(session_id, rows)
    tables.transcripts.show_activity(session_id, brought.session.last_activity_at)
    return count


def with_parent(tables: Tables, brought: Brought) -> Session:
    """A session that comes from one that is not here stands alone."""
    if not brought.parent_id or tables.sessions.get(brought.parent_id) is None:
        return brought.session
    return replace(brought.session, parent_id=brought.parent_id, kind=brought.kind)
