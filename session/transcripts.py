"""Whole transcripts, rows that were set aside included, on their way out of the store and into it.

Rows are counted from 1 in the order they were stored: what leaves must not depend on the ids of this store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from session.connection import Connection
from session.json_columns import UnreadableColumn
from session.jsonl import Row, Spending, message_of, row_of, spending_of
from session.message_row import COLUMNS, decode_message, insert_row
from session.models import Message, Usage

ORDERED = "SELECT id, position FROM messages WHERE session_id = ? ORDER BY id"
AT_PLACE = "SELECT min(id) FROM messages WHERE session_id = ? AND active IN (0, 1) AND position = ? AND id < ?"
NEXT_ID = """SELECT 1 + max(coalesce((SELECT max(id) FROM messages), 0),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0))"""
SPENT = "provider, model, day, task, requests, input, output, cache_read, cache_write, reasoning"


class Transcripts:
    """Reads and writes row by row, in the memory of one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def count(self, session_id: str) -> int:
        """How many rows there are, set aside or not."""
        return self._number("SELECT count(*) FROM messages WHERE session_id = ?", session_id)

    def rows(self, session_id: str, parent_id: str = "") -> Iterator[Row]:
        """All rows in the order they were stored. Copies of a branch point to the parent's rows where that is named."""
        parent = Numbers(self._connection, parent_id)
        last_id = 0
        for found in self._connection.each(ORDERED, session_id):
            row_id, place = (int(str(value)) for value in found)
            message, rewound_by = self._message(row_id)
            is_copy = parent_id != "" and self._at_place(parent_id, place, row_id) > 0
            original = parent.number_of(place) if is_copy else 0
            own = self._at_place(session_id, place, row_id) if place <= last_id and not is_copy else 0
            position = self.ordinal(session_id, own) if own else 0
            yield row_of(message, rewound_by=rewound_by, position=position, copy_of=original)
            last_id = row_id

    def add(self, session_id: str, rows: Iterable[Row], parent_id: str = "") -> int:
        """Store rows behind those there are; how many. Raises ValueError where a place in them cannot be."""
        first_id = self._number(NEXT_ID)
        held = self.count(session_id)
        parent = Numbers(self._connection, parent_id)
        added = 0
        for row in rows:
            row_id = first_id + added
            place = parent.place_of(row.copy_of) if row.copy_of else row_id
            if row.position:
                place = self._place(session_id, first_id + row.position - 1 - held)
            message = message_of(row, session_id)
            insert_row(self._connection, message, row_id=row_id, position=place, rewound_by=row.rewound_by)
            added += 1
        self._refuse_shared_places(session_id)
        return added

    def ordinal(self, session_id: str, message_id: int) -> int:
        """How many rows had been stored with this one, 0 where none had."""
        return self._number("SELECT count(*) FROM messages WHERE session_id = ? AND id <= ?", session_id, message_id)

    def message_id(self, session_id: str, ordinal: int) -> int:
        """The id of a row by its number, 0 where there are not so many."""
        found = self._connection.value(
            "SELECT id FROM messages WHERE session_id = ? ORDER BY id LIMIT 1 OFFSET ?", session_id, ordinal - 1
        )
        return found if ordinal > 0 and isinstance(found, int) else 0

    def show_activity(self, session_id: str, at: float) -> None:
        """Let a session, and those that it continues, have been active at a time, so that they are listed there."""
        self._connection.run(
            """
            WITH RECURSIVE line (id, kind, parent_id) AS (
                SELECT id, kind, parent_id FROM sessions WHERE id = ?
                UNION SELECT s.id, s.kind, s.parent_id FROM line JOIN sessions s ON s.id = line.parent_id
                WHERE line.kind = 'compaction'
            )
            UPDATE sessions SET last_activity_at = max(last_activity_at, ?) WHERE id IN (SELECT id FROM line)
            """,
            session_id,
            at,
        )

    def spendings(self, session_id: str) -> tuple[Spending, ...]:
        rows = self._connection.rows(
            f"SELECT {SPENT} FROM usage WHERE session_id = ? ORDER BY provider, model, day, task", session_id
        )
        return tuple(map(spending, rows))

    def set_spendings(self, session_id: str, spendings: Iterable[Spending]) -> None:
        """Let a session have taken this, and nothing else. Raises sqlite3.IntegrityError for two of one kind."""
        self._connection.run("DELETE FROM usage WHERE session_id = ?", session_id)
        for spent in spendings:
            self._connection.run(
                f"INSERT INTO usage (session_id, {SPENT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                session_id,
                spent.provider,
                spent.model,
                spent.day,
                spent.task,
                spent.requests,
                spent.input,
                spent.output,
                spent.cache_read,
                spent.cache_write,
                spent.reasoning,
            )

    def _message(self, row_id: int) -> tuple[Message, int]:
        found = self._connection.row(f"SELECT rewound_by, {COLUMNS} FROM messages WHERE id = ?", row_id)
        if found is None:
            raise UnreadableColumn(f"row {row_id} went away")
        rewound_by, *columns = found
        return decode_message(tuple(columns)), rewound_by if isinstance(rewound_by, int) else 0

    def _at_place(self, session_id: str, place: int, before_id: int) -> int:
        """The first row at a place, of those stored before one; 0 for none."""
        return self._number(AT_PLACE, session_id, place, before_id)

    def _place(self, session_id: str, message_id: int) -> int:
        found = self._connection.value(
            "SELECT position FROM messages WHERE id = ? AND session_id = ?", message_id, session_id
        )
        if not isinstance(found, int):
            raise UnreadableColumn("a row stands at the place of one that does not come before it")
        return found

    def _refuse_shared_places(self, session_id: str) -> None:
        shared = self._connection.row(
            "SELECT 1 FROM messages WHERE session_id = ? AND active = 1 GROUP BY position HAVING count(*) > 1 LIMIT 1",
            session_id,
        )
        if shared:
            raise UnreadableColumn("two rows that stand in the conversation have one place")

    def _number(self, sql: str, *values: str | int) -> int:
        found = self._connection.value(sql, *values)
        return found if isinstance(found, int) else 0


class Numbers:
    """The rows of a session by their numbers and their places; quick where both grow, as for the copies of a branch."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id
        self._begin()

    def place_of(self, number: int) -> int:
        """Raises ValueError where there is no such row."""
        if number < self._number:
            self._begin()
        while self._number < number:
            if not self._advance():
                raise UnreadableColumn("a row is the copy of one that its parent does not have")
        return self._place

    def number_of(self, place: int) -> int:
        """The number of a row at a place that is taken."""
        while self._place != place and self._advance():
            pass
        if self._place != place:
            self._begin()
            while self._place != place and self._advance():
                pass
        return self._number

    def _begin(self) -> None:
        self._rows = self._connection.each(ORDERED, self._session_id)
        self._number = self._place = 0

    def _advance(self) -> bool:
        found = next(self._rows, None)
        if found is not None:
            self._number, self._place = self._number + 1, int(str(found[1]))
        return found is not None


def spending(row: tuple[object, ...]) -> Spending:
    provider, model, day, task, *numbers = row
    requests, *tokens = (int(str(number)) for number in numbers)
    return spending_of(str(provider), str(model), str(day), str(task), requests, Usage(*tokens))
