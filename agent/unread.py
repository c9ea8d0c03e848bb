"""Which sessions something ended in that nobody has looked at since."""

from __future__ import annotations

import time

from session.db import SessionDB
from session.models import Session


class Unread:
    """Known here at once, and kept in the store, so that it is known after a restart and in other processes.

    A session that nobody ever looked at on a screen, such as those of `hermes chat`, is not waited for by anybody.
    """

    def __init__(self, db: SessionDB) -> None:
        self._db = db
        self._ended: set[str] = set()

    def add(self, session_id: str) -> None:
        """Something ended in it."""
        self._ended.add(session_id)

    def opened(self, session: Session) -> None:
        """From now on it is told of here, and no more by its row."""
        if was_left_unread(session):
            self._ended.add(session.id)

    def look_at(self, session_id: str, *, is_stored: bool) -> None:
        """A person sees it now. Nothing waits for the write, and where the file takes none it is of no account."""
        self._ended.discard(session_id)
        now = time.time()
        if is_stored:
            self._db.write(lambda tables: tables.sessions.mark_read(session_id, now))

    def holds(self, session: Session, *, is_open: bool) -> bool:
        return session.id in self._ended or (not is_open and was_left_unread(session))


def was_left_unread(session: Session) -> bool:
    return 0 < session.last_read_at < session.last_activity_at
