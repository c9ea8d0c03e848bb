"""What always holds of a session in the store, whatever was done to it and wherever a process died: written down once.

Each function below finds the breaches of one rule, and says the rule in its first line. `RULES` is the list of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from msgspec import Struct

from session.deletion import TABLES
from session.message_row import COLUMNS, decode_message
from session.models import Message, Role, Session
from session.search_index import indexed_to
from session.tables import Tables


class PlacedRow(Struct, frozen=True):
    """A message with what the store alone knows of it: its place, the rewind that set it aside, and its being indexed."""

    message: Message
    position: int
    rewound_by: int
    is_indexed: bool


class Stored(Struct, frozen=True):
    """All of one session that the rules look at. `rows` are in the order of their places, the active ones last."""

    session: Session
    rows: list[PlacedRow]
    active: list[Message]
    open_turns: int
    waiting: list[str]  # the ids of calls about which a question is open
    has_partial: bool
    unanswered: list[str]
    indexed_to: int


A_DELETED_SESSION = "A deleted session holds nothing: no row, question or mark, nothing queued, no lease"
Rule = Callable[[Stored], Iterator[str]]


def violations(tables: Tables, session_id: str) -> list[str]:
    """What is wrong with a session, each as "rule: where"; [] where nothing is, or where there is no such session."""
    session = tables.sessions.get(session_id)
    if session is None:
        kept_in = tables_that_hold(tables, session_id) if tables.sessions.is_deleted(session_id) else []
        return [f"{A_DELETED_SESSION}: {table}" for table in kept_in]
    stored = look_at(tables, session)
    return [f"{(rule.__doc__ or '').rstrip('.')}: {where}" for rule in RULES for where in rule(stored)]


def tables_that_hold(tables: Tables, session_id: str) -> list[str]:
    """The tables in which a session has rows."""
    return [
        table
        for table in TABLES
        if tables.connection.row(f"SELECT 1 FROM {table} WHERE session_id = ?", session_id) is not None
    ]


def look_at(tables: Tables, session: Session) -> Stored:
    connection, id_ = tables.connection, session.id
    turns = connection.value("SELECT count(*) FROM turns WHERE session_id = ? AND ended_at IS NULL", id_)
    return Stored(
        session,
        placed_rows(tables, id_),
        tables.messages.all(id_),
        int(str(turns)),
        [request.call_id for request in tables.approvals.waiting(id_)],
        bool(tables.partials.read(id_)),
        [call.id for call in tables.calls.unanswered(id_)],
        indexed_to(connection),
    )


def placed_rows(tables: Tables, session_id: str) -> list[PlacedRow]:
    rows = tables.connection.each(
        f"""
        SELECT position, rewound_by, id IN (SELECT id FROM messages_fts_docsize), {COLUMNS}
        FROM messages WHERE session_id = ? ORDER BY position, active
        """,
        session_id,
    )
    placed: list[PlacedRow] = []
    for position, rewound_by, is_indexed, *columns in rows:
        message = decode_message(tuple(columns))
        placed.append(PlacedRow(message, number(position), number(rewound_by), bool(is_indexed)))
    return placed


def number(value: object) -> int:
    """The value; 0 for one of another type, which no rule takes for a place."""
    return value if isinstance(value, int) else 0


# --- the rows


def unreadable(stored: Stored) -> Iterator[str]:
    """Every row can be read."""
    yield from (row.message.content for row in stored.rows if row.message.is_damaged)


def without_reason(stored: Stored) -> Iterator[str]:
    """A row is active, compacted or rewound, and only one of these."""
    for row in stored.rows:
        if (row.message.is_active, row.message.is_compacted, row.rewound_by > 0).count(True) != 1:
            yield named(row.message)


def misplaced(stored: Stored) -> Iterator[str]:
    """The place of a row is a number from 1 up to its id."""
    yield from (named(row.message) for row in stored.rows if not 1 <= row.position <= row.message.id)


def at_one_place(stored: Stored) -> Iterator[str]:
    """No two active rows stand at one place."""
    places = Counter(row.position for row in stored.rows if row.message.is_active)
    yield from (f"place {place}" for place, rows in places.items() if rows > 1)


def out_of_order(stored: Stored) -> Iterator[str]:
    """Active rows stand in the order in which they were stored, but for those that took the place of compacted ones."""
    taken = {row.position for row in stored.rows if row.message.is_compacted}
    said = [row.message for row in stored.rows if row.message.is_active and row.position not in taken]
    yield from (named(row) for before, row in pairwise(said) if before.id > row.id)


def summaries(stored: Stored) -> Iterator[str]:
    """There is one summary at most."""
    yield from (named(row) for row in [row for row in stored.active if row.is_summary][1:])


# --- the numbers of the session


def uncounted_rewinds(stored: Stored) -> Iterator[str]:
    """No row was set aside by a rewind that the session does not count."""
    yield from (named(row.message) for row in stored.rows if row.rewound_by > stored.session.rewinds)


def uncounted_revisions(stored: Stored) -> Iterator[str]:
    """A session has at least as many revisions as rewinds."""
    if stored.session.revision < stored.session.rewinds:
        yield f"{stored.session.revision} revisions, {stored.session.rewinds} rewinds"


# --- the next request


def speechless_beginning(stored: Stored) -> Iterator[str]:
    """A conversation begins with a prompt or a summary."""
    first = next(spoken(stored), None)
    if first and first.role is not Role.USER and not first.is_summary:
        yield named(first)


def two_answers(stored: Stored) -> Iterator[str]:
    """No answer follows one that called nothing."""
    before: Message | None = None
    for row in spoken(stored):
        if before and is_plain_answer(before) and row.role is Role.ASSISTANT:
            yield named(row)
        before = row


def unpaired(stored: Stored) -> Iterator[str]:
    """Behind the calls of an answer stand their results, in order, each once; only an open turn may still owe some."""
    owed: list[str] = []
    for row in spoken(stored):
        match row.role:
            case Role.TOOL:
                call_id = row.result.call_id if row.result else ""
                if not owed or owed.pop(0) != call_id:
                    yield named(row)
            case _:
                yield from (f"{named(row)} comes before the result of {call_id}" for call_id in owed)
                owed = [call.id for call in row.calls]
    if not stored.open_turns:
        yield from (f"{call_id} has none" for call_id in owed)


def equal_call_ids(stored: Stored) -> Iterator[str]:
    """No two calls of a session have one id, also where they were set aside."""
    ids = Counter(call.id for row in stored.rows for call in row.message.calls)
    yield from (call_id for call_id, calls in ids.items() if calls > 1)


# --- the turn


def two_turns(stored: Stored) -> Iterator[str]:
    """At most one turn of a session is open."""
    if stored.open_turns > 1:
        yield f"{stored.open_turns} are"


def idle_questions(stored: Stored) -> Iterator[str]:
    """An open question is about a call without result, and its turn is open."""
    for call_id in stored.waiting:
        if not stored.open_turns or call_id not in stored.unanswered:
            yield call_id


def idle_partial(stored: Stored) -> Iterator[str]:
    """Half an answer is kept only while its turn is open."""
    if stored.has_partial and not stored.open_turns:
        yield "no turn is"


# --- the session among others


def not_as_searched(stored: Stored) -> Iterator[str]:
    """Search knows every row up to the last one that it knows."""
    yield from (named(row.message) for row in stored.rows if row.is_indexed != (row.message.id <= stored.indexed_to))


def orphaned(stored: Stored) -> Iterator[str]:
    """A branch or continuation names the session it comes from, and no other session does."""
    if bool(stored.session.kind) != bool(stored.session.parent_id):
        yield f"{stored.session.kind or 'no kind'}, {stored.session.parent_id or 'no parent'}"


RULES: tuple[Rule, ...] = (
    unreadable,
    without_reason,
    misplaced,
    at_one_place,
    out_of_order,
    summaries,
    uncounted_rewinds,
    uncounted_revisions,
    speechless_beginning,
    two_answers,
    unpaired,
    equal_call_ids,
    two_turns,
    idle_questions,
    idle_partial,
    not_as_searched,
    orphaned,
)


def named(row: Message) -> str:
    return f"row {row.id} ({row.role})"


def spoken(stored: Stored) -> Iterator[Message]:
    """The active rows that the next request is made from. An answer that says nothing is not sent (A31)."""
    for row in stored.active:
        is_empty = row.role is Role.ASSISTANT and not (row.content or row.refusal or row.calls)
        if row.role is not Role.NOTICE and not is_empty:
            yield row


def is_plain_answer(row: Message) -> bool:
    return row.role is Role.ASSISTANT and not row.calls and not row.is_summary
