"""The conversations themselves: one row each."""

from __future__ import annotations

import secrets
import time

from msgspec.structs import replace

from session.connection import SqlValue
from session.deletion import delete_session
from session.errors import EmptyTitle, SessionDeleted, TitleTaken
from session.json_columns import encode_route
from session.listing import SessionLists
from session.models import EndReason, Route, Session, TitleSource
from session.naming import free_title, holder, next_in_lineage
from session.session_row import INSERT, session_values
from session.titles import clean_title

UNKNOWN_SOURCE = "unknown"
ENDED = "ended_at = coalesce(ended_at, ?), end_reason = CASE end_reason WHEN '' THEN ? ELSE end_reason END"


class Sessions(SessionLists):
    """Verbs on one session each. Those that change one raise SessionDeleted where it is not there any more."""

    def create(self, session: Session) -> Session:
        """Store a new session under a title that no other has; the session as it now stands in the store.

        Raises sqlite3.IntegrityError when the id is taken.
        """
        title = free_title(self._connection, clean_title(session.title), session.id)
        stored = replace(session, title=title)
        self._connection.run(INSERT, *session_values(stored))
        return stored

    def next_title(self, title: str) -> str:
        """A free title for a session that comes from one named `title`: "name #2", "name #3", …"""
        return next_in_lineage(self._connection, title)

    def set_title(
        self, session_id: str, title: str, source: TitleSource, instead_of: tuple[str, TitleSource] | None = None
    ) -> bool:
        """Name a session: a person always may, others only where no title or one of a lower source stands.

        False where what stands there is kept, also where it is not the title and source of `instead_of` (any more). An
        automatic title that is taken is numbered. A person is told, by EmptyTitle or TitleTaken.
        """
        held, title = self._title(session_id), clean_title(title)
        if instead_of not in (None, held):
            return False
        if source is TitleSource.PERSON:
            self._check(session_id, title)
        elif not title or (held[0] and held[1] >= source):
            return False
        free = free_title(self._connection, title, session_id)
        self._update(session_id, "title = ?, title_source = ?", free, int(source))
        return True

    def set_route(self, session_id: str, route: Route) -> None:
        self._update(session_id, "route = ?", encode_route(route))

    def set_personality(self, session_id: str, name: str) -> None:
        self._update(session_id, "personality = ?", name)

    def set_mode(self, session_id: str, mode: str) -> None:
        self._update(session_id, "mode = ?", mode)

    def set_prompt(self, session_id: str, prompt_hash: str) -> None:
        """Note which system prompt was used last."""
        self._update(session_id, "prompt_hash = ?", prompt_hash)

    def set_anchors(self, session_id: str, anchors: str) -> None:
        """Store what the context figure rests on, together with the row of the answer that was counted."""
        self._update(session_id, "anchors = ?", anchors)

    def set_compaction(self, session_id: str, compaction: str) -> None:
        """Store what is known of compactions of the session."""
        self._update(session_id, "compaction = ?", compaction)

    def set_pinned(self, session_id: str, is_pinned: bool) -> None:
        self._update(session_id, "pinned = ?", int(is_pinned))

    def claim_source(self, session_id: str, source: str) -> None:
        """Say who writes in a session of which that is not known yet; a source that is known stands (#111999)."""
        self._update(session_id, "source = CASE source WHEN ? THEN ? ELSE source END", UNKNOWN_SOURCE, source)

    def mark_read(self, session_id: str, at: float) -> None:
        """Note that a person has seen the end of it; neither its order nor its time change (E20)."""
        self._connection.run("UPDATE sessions SET last_read_at = max(last_read_at, ?) WHERE id = ?", at, session_id)

    def end(self, session_id: str, reason: EndReason, at: float) -> None:
        """Close a session for good, by a person's own command; the first reason stands. One that is gone stays gone."""
        match reason:
            case EndReason.NEW:
                self._close(session_id, ENDED, at, reason)
            case EndReason.ARCHIVED:
                self._close(session_id, f"archived = 1, {ENDED}", at, reason)
            case EndReason.DELETED:
                self.delete(session_id, at)

    def archive(self, session_id: str, at: float) -> None:
        """End a session and keep it out of the lists."""
        self.end(session_id, EndReason.ARCHIVED, at)

    def unarchive(self, session_id: str) -> None:
        """Put a session back into the lists; it is open again unless something else had ended it."""
        self._update(
            session_id,
            """archived = 0, ended_at = CASE end_reason WHEN 'archived' THEN NULL ELSE ended_at END,
            end_reason = CASE end_reason WHEN 'archived' THEN '' ELSE end_reason END""",
        )

    def reopen(self, session_id: str) -> None:
        """Go on with a session that was ended, for whatever reason."""
        self._update(session_id, "archived = 0, ended_at = NULL, end_reason = ''")

    def delete(self, session_id: str, at: float) -> bool:
        """Remove a session with all that was said in it. False where there is none (any more)."""
        return delete_session(self._connection, session_id, at)

    def relink(self, session_id: str, cwd: str, workspace: str) -> None:
        """Give a session the folder that it now works in (E10)."""
        self._update(session_id, "cwd = ?, workspace = ?", cwd, workspace)

    def relink_folder(self, old: str, new: str) -> int:
        """Follow a folder that was moved, in each session that worked in it or below it; how many those are (E10)."""
        found = self._connection.rows("SELECT id, cwd, workspace FROM sessions WHERE end_reason != 'deleted'")
        held = {str(id_): (str(cwd), str(workspace)) for id_, cwd, workspace in found}
        wanted = {id_: (moved(cwd, old, new), moved(workspace, old, new)) for id_, (cwd, workspace) in held.items()}
        changed = [id_ for id_ in held if wanted[id_] != held[id_]]
        for id_ in changed:
            self.relink(id_, *wanted[id_])
        return len(changed)

    def _title(self, session_id: str) -> tuple[str, TitleSource]:
        session = self.get(session_id)
        if session is None:
            raise SessionDeleted(session_id=session_id)
        return session.title, session.title_source

    def _check(self, session_id: str, title: str) -> None:
        """Tell a person why a title can't be used."""
        if not title:
            raise EmptyTitle
        if other := holder(self._connection, title, session_id):
            raise TitleTaken(title=title, holder=other)

    def _close(self, session_id: str, assignments: str, at: float, reason: EndReason) -> None:
        self._connection.run(
            f"UPDATE sessions SET {assignments} WHERE id = ? AND end_reason != 'deleted'", at, reason, session_id
        )

    def _update(self, session_id: str, assignments: str, *values: SqlValue) -> None:
        sql = f"UPDATE sessions SET {assignments} WHERE id = ? AND end_reason != 'deleted'"
        if self._connection.run(sql, *values, session_id) == 0:
            raise SessionDeleted(session_id=session_id)


def new_session_id(at: float) -> str:
    """An id that sorts by time and can be typed: 20261129-195611-4f2a91c0 (UTC)."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(at))}-{secrets.token_hex(4)}"


def moved(path: str, old: str, new: str) -> str:
    """Where a path is after a folder moved: below the new one if it was below the old one, else where it was."""
    old, new = old.rstrip("/"), new.rstrip("/")
    is_inside = path == old or path.startswith(f"{old}/")
    return (new + path[len(old) :] or "/") if is_inside else path
