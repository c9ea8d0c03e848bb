"""Which rows a search may show: those of its filters, and of those none that was rewound or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec import Struct

from session.connection import Connection, SqlRow, SqlValue
from session.models import Role

LAST_ID = 2**63 - 1
Said = tuple[int, bool, float]
SHOWN_ROLES = "('user', 'assistant', 'tool')"


class VisibleRow(Struct, frozen=True):
    """A row that may be shown, without its text."""

    id: int
    session_id: str
    title: str
    role: Role
    created_at: float
    position: int
    is_summary: bool

    @property
    def original_id(self) -> int:
        """The row that a branch copied this one from, its own id where it is no copy that can be told from its place.

        The summary of a compaction stands at the place of a row that it is no copy of.
        """
        return self.id if self.is_summary else self.position

    @property
    def said(self) -> Said:
        """The same for a row and all copies of it, and for no other."""
        return self.position, self.is_summary, self.created_at


class Scope(Struct, frozen=True):
    """The filters of a search; None does not filter. `since` is included, `until` is not."""

    role: Role | None = None
    session_id: str | None = None
    since: float | None = None
    until: float | None = None
    cwd: str | None = None
    source: str | None = None

    def id_range(self, connection: Connection) -> tuple[int, int]:
        """The first and the last id that the rows can have."""
        if self.session_id is None:
            return 0, LAST_ID
        row = connection.row("SELECT min(id), max(id) FROM messages WHERE session_id = ?", self.session_id)
        match row:
            case (int(first), int(last)):
                return first, last
            case _:
                return 1, 0

    def visible(self, connection: Connection, ids: list[int]) -> dict[int, VisibleRow]:
        """Those of the rows that may be shown."""
        conditions = dict(self._conditions())
        sql = f"""
            SELECT m.id, m.session_id, s.title, m.role, m.created_at, m.position, m.is_summary
            FROM messages m JOIN sessions s ON s.id = m.session_id
            WHERE m.id IN ({", ".join("?" * len(ids))}) AND (m.active = 1 OR m.compacted > 0)
                AND m.role IN {SHOWN_ROLES} AND s.end_reason != 'deleted' {" ".join(conditions)}
            """
        rows = map(visible_row, connection.rows(sql, *ids, *chain_values(conditions)))
        return {row.id: row for row in rows}

    def _conditions(self) -> Iterator[tuple[str, tuple[SqlValue, ...]]]:
        if self.role is not None:
            yield "AND m.role = ?", (self.role,)
        if self.session_id is not None:
            yield "AND m.session_id = ?", (self.session_id,)
        if self.since is not None:
            yield "AND m.created_at >= ?", (self.since,)
        if self.until is not None:
            yield "AND m.created_at < ?", (self.until,)
        if self.cwd is not None:
            yield "AND (s.cwd = ? OR s.workspace = ?)", (self.cwd, self.cwd)
        if self.source is not None:
            yield "AND s.source = ?", (self.source,)


def chain_values(conditions: dict[str, tuple[SqlValue, ...]]) -> list[SqlValue]:
    return [value for values in conditions.values() for value in values]


def visible_row(row: SqlRow) -> VisibleRow:
    id_, session_id, title, role, created_at, position, is_summary = row
    return VisibleRow(
        cast(int, id_),
        str(session_id),
        str(title),
        Role(str(role)),
        created_at if isinstance(created_at, float) else 0.0,
        position if isinstance(position, int) else 0,
        bool(is_summary),
    )
