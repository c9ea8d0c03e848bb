"""Reading sessions: one by what a person calls it, and the lists to choose from. Deleted ones are never among them."""

from __future__ import annotations

import re

from session.connection import Connection, SqlValue
from session.models import Session
from session.session_row import COLUMNS, decode_session
from session.titles import clean_title

# The words of the partial index `sessions_listed`, so that SQLite uses it. A continuation stands behind its first session.
LISTED = "end_reason != 'deleted' AND kind != 'compaction'"
NEWEST_FIRST = "ORDER BY last_activity_at DESC, id DESC"
MATCHES = 20  # how many sessions are told apart where an id was cut too short
LAST_CHAR = "\U0010ffff"


class SessionLists:
    """The reading half of the sessions table. Reading never changes an order or a time (E20)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, session_id: str) -> Session | None:
        found = self._read("id = ? AND end_reason != 'deleted'", session_id)
        return found[0] if found else None

    def is_deleted(self, session_id: str) -> bool:
        """Whether a session was there and was deleted."""
        found = self._connection.row("SELECT 1 FROM sessions WHERE id = ? AND end_reason = 'deleted'", session_id)
        return found is not None

    def find(self, text: str) -> list[Session]:
        """The sessions that a person may mean: the one of this id, else of this title, else all ids that begin so."""
        if same := self.get(text):
            return [same]
        named = self._read("title != '' AND title = ?", clean_title(text))
        return named or (self._beginning(text) if text else [])

    def titled(self, beginning: str) -> list[Session]:
        """The sessions whose title begins so, the last active one first; the case of ASCII letters does not matter."""
        literal = re.sub(r"[\\%_]", r"\\\g<0>", beginning)
        where = f"title LIKE ? ESCAPE '\\' AND end_reason != 'deleted' {NEWEST_FIRST} LIMIT {MATCHES}"
        return self._read(where, f"{literal}%") if beginning else []

    def latest(self, workspace: str | None) -> Session | None:
        """The session last active, in one workspace or in any, also one that `/new` left; an archived one is not gone back to."""
        where, values = narrowed(workspace, None, include_archived=False)
        found = self._read(f"{where} {NEWEST_FIRST} LIMIT 1", *values)
        return found[0] if found else None

    def listing(
        self,
        limit: int = 50,
        offset: int = 0,
        *,
        before: tuple[float, str] | None = None,
        workspace: str | None = None,
        cwd: str | None = None,
        include_archived: bool = False,
    ) -> list[Session]:
        """The last active session first. The next page is `before` the (last_activity_at, id) of the last one here."""
        where, values = narrowed(workspace, cwd, include_archived=include_archived)
        if before is not None:
            where, values = f"{where} AND (last_activity_at, id) < (?, ?)", (*values, *before)
        return self._read(f"{where} {NEWEST_FIRST} LIMIT ? OFFSET ?", *values, limit, offset)

    def count(self, *, workspace: str | None = None, cwd: str | None = None, include_archived: bool = False) -> int:
        """How many sessions `listing` would give in all."""
        where, values = narrowed(workspace, cwd, include_archived=include_archived)
        return int(str(self._connection.value(f"SELECT count(*) FROM sessions WHERE {where}", *values)))

    def pinned(self) -> list[Session]:
        """The sessions that a person keeps in sight, the last active one first."""
        return self._read(f"{LISTED} AND pinned = 1 {NEWEST_FIRST}")

    def _beginning(self, text: str) -> list[Session]:
        where = f"id >= ? AND id < ? AND end_reason != 'deleted' ORDER BY id DESC LIMIT {MATCHES}"
        return self._read(where, text, text + LAST_CHAR)

    def _read(self, where: str, *values: SqlValue) -> list[Session]:
        return [
            decode_session(row)
            for row in self._connection.rows(f"SELECT {COLUMNS} FROM sessions WHERE {where}", *values)
        ]


def narrowed(workspace: str | None, cwd: str | None, *, include_archived: bool) -> tuple[str, tuple[SqlValue, ...]]:
    """The words after WHERE and their values. Paths are compared whole: those that look alike are not the same (E12)."""
    wanted = [(column, value) for column, value in (("workspace", workspace), ("cwd", cwd)) if value is not None]
    terms = [LISTED, *(f"{column} = ?" for column, _ in wanted)]
    if not include_archived:
        terms.append("archived = 0")
    return " AND ".join(terms), tuple(value for _, value in wanted)
