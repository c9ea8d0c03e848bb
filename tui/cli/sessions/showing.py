"""`hermes sessions show`: the end of a conversation to read."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, to_builtins

from agent.session_names import one_line
from session.models import CallOutcome, Message, Role, Session
from session.tables import Tables
from tui.cli.sessions.options import ShowOptions
from tui.cli.sessions.store import Record, Store, marks, moment, session_record

RESULT_LINES = 12  # of a tool's output; --json and an export have all of it


class _Page(Struct, frozen=True):
    """`has_earlier`: messages stand before the rows. `goes_on_in` is the session that continues this one, or ""."""

    session: Session
    marks: tuple[str, ...]
    rows: list[Message]
    has_earlier: bool
    goes_on_in: str
    record: Record


def run_show(options: ShowOptions, store: Store) -> int:
    session = store.find(options.session)
    page = store.read(lambda tables: _page(tables, session, options))
    if store.as_json:
        messages = [row_record(row) for row in page.rows]
        store.data({**page.record, "has_earlier": page.has_earlier, "messages": messages})
        return 0
    store.answer("\n\n".join([_head(page), *map(_row, page.rows)]))
    if page.has_earlier:
        store.remark(f"There is more before that: hermes sessions show {session.id} --before {page.rows[0].id}")
    if page.goes_on_in:
        store.remark(f"This conversation goes on: hermes sessions show {page.goes_on_in}")
    return 0


def row_record(row: Message) -> Record:
    """A row without the fields that do not belong to its role."""
    record: Record = to_builtins(row)
    return {key: value for key, value in record.items() if value not in ("", None, [])} | {"content": row.content}


def _page(tables: Tables, session: Session, options: ShowOptions) -> _Page:
    rows = tables.messages.page(session.id, options.before, options.limit + 1)
    following = tables.lineage.resume_target(session.id)
    return _Page(
        session,
        marks(tables, session),
        rows[-options.limit :],
        len(rows) > options.limit,
        following if following != session.id else "",
        session_record(tables, session),
    )


def _head(page: _Page) -> str:
    session = page.session
    facts = [session.id, moment(session.last_activity_at), session.route.model if session.route else "", session.cwd]
    return f"{one_line(session)}\n{'  '.join(filter(None, [*facts, ', '.join(page.marks)]))}"


def _row(row: Message) -> str:
    return "\n".join([f"--- {_speaker(row)}, {moment(row.created_at)}  [{row.id}]", *_said(row)])


def _speaker(row: Message) -> str:
    match row.role:
        case _ if row.is_damaged:
            return "Damaged"
        case _ if row.is_summary:
            return "Summary of what was said before"
        case Role.USER:
            return "You"
        case Role.ASSISTANT:
            return "Assistant"
        case Role.NOTICE:
            return "Notice"
        case Role.TOOL:
            return _tool(row)


def _tool(row: Message) -> str:
    if row.result is None:
        return "Tool"
    ended = "" if row.result.outcome is CallOutcome.OK else f" ({row.result.outcome.replace('_', ' ')})"
    return f"Tool {row.result.tool}{ended}"


def _said(row: Message) -> Iterator[str]:
    if row.content:
        yield _cut(row.content) if row.role is Role.TOOL else row.content
    if row.refusal:
        yield f"Refused: {row.refusal}"
    if row.role is not Role.USER:  # a command of the person's is the text of its row
        yield from (f"Calls {call.name}: {call.arguments}" for call in row.calls)
    if row.parts:
        yield "(something other than text came with this)"
    if row.finish and row.finish not in ("stop", "tool_calls"):
        yield f"({row.finish.replace('_', ' ')})"


def _cut(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= RESULT_LINES:
        return text
    return "\n".join([*lines[:RESULT_LINES], f"(and {len(lines) - RESULT_LINES} more lines)"])
