"""One process that works with a store; it prints the megabytes that were resident in the end.

python tests/bench/store_memory.py database session query …
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path

import psutil
from store_fixture import Conversations, session_of

from session.db import SessionDB
from session.search_index import is_behind

APPENDS = 1_000


def work(db: SessionDB, session_id: str, queries: list[str]) -> None:
    """A list, a page, searches, and appends one by one until the index holds them too."""
    db.read(lambda tables: tables.sessions.listing(50)).result()
    db.read(lambda tables: tables.messages.page(session_id)).result()
    for query in queries:
        db.read(lambda tables, query=query: tables.search.find(query)).result()
    own = session_of(f"memory-{time.time_ns()}", 0)
    db.write(lambda tables: tables.sessions.create(own)).result()
    for message in islice(Conversations().messages(own.id, time.time()), APPENDS):
        db.write(lambda tables, message=message: tables.messages.append(message)).result()
    while db.read(lambda tables: is_behind(tables.connection)).result():
        time.sleep(0.01)


def main(path: str, session_id: str, *queries: str) -> int:
    db = SessionDB.open(Path(path))
    work(db, session_id, list(queries))
    print(psutil.Process().memory_info().rss / 1e6)
    db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
