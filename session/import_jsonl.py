"""Sessions that were exported as lines of JSON, into the store: all of a file, or nothing.

A session that is here already is left alone, however it went on since. One whose id another session has, or had before
it was deleted, comes in under a new id, which is the same each time: so importing twice changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from msgspec.structs import replace

from session.connection import Patience
from session.db import SessionDB
from session.imported import Imported, told
from session.jsonl import session_of
from session.jsonl_file import Entry, JsonlFile, Said
from session.models import Kind
from session.tables import Tables

ALREADY_HERE = "already here"


def import_jsonl(db: SessionDB, path: Path) -> Imported:
    """Blocks. Raises RefusedImport, BusyDatabase or FailedWrite; then nothing was stored."""
    with JsonlFile.open(path) as file:
        entries = file.entries()
        return db.write(lambda tables: store(tables, file, entries), patience=Patience.TRANSCRIPT).result()


def store(tables: Tables, file: JsonlFile, entries: list[Entry]) -> Imported:
    """Parents must stand before those that come from them."""
    stored_ids: dict[str, str] = {}
    added: list[int] = []
    for entry in entries:
        stored_id, is_new = id_for(tables, entry)
        stored_ids[entry.header.id] = stored_id
        if is_new:
            added.append(add(tables, file, entry, stored_id, stored_ids.get(entry.header.parent_id, "")))
    skipped = len(entries) - len(added)
    return Imported(len(added), sum(added), skipped, told(Counter({ALREADY_HERE: skipped} if skipped else {})))


def id_for(tables: Tables, entry: Entry) -> tuple[str, bool]:
    """The id under which a session is here or will be, and whether it is new."""
    for candidate in candidates(entry):
        if tables.sessions.is_deleted(candidate):
            continue
        if tables.sessions.get(candidate) is None:
            return candidate, True
        if begins_with(tables, candidate, entry):
            return candidate, False
    raise AssertionError("there is always one more candidate")


def candidates(entry: Entry) -> Iterator[str]:
    yield entry.header.id
    other = f"{entry.header.id[:100]}-{entry.digest[:8]}"
    yield other
    yield from (f"{other}-{number}" for number in count(2))


def begins_with(tables: Tables, session_id: str, entry: Entry) -> bool:
    """Whether all that was said in a session of the file was said in one of the store, in the beginning."""
    said = Said()
    for _ in said.through(islice(tables.transcripts.rows(session_id), entry.header.messages)):
        pass
    return said.digest == entry.digest


def add(tables: Tables, file: JsonlFile, entry: Entry, stored_id: str, parent_id: str) -> int:
    """Store one session; the number of its rows."""
    header, transcripts = entry.header, tables.transcripts
    session = session_of(header, stored_id, tables.prompts.put(header.prompt) if header.prompt else "")
    if parent_id:
        branched_at = transcripts.message_id(parent_id, header.branched_at)
        session = replace(session, parent_id=parent_id, kind=header.kind, branched_at=branched_at)
    tables.sessions.create(session)
    transcripts.set_spendings(stored_id, header.usage)
    try:
        return transcripts.add(stored_id, file.rows(entry), parent_id if header.kind is Kind.BRANCH else "")
    except ValueError as error:
        raise file.refusal(str(error)) from error
