"""`hermes sessions list`."""

from __future__ import annotations

from agent.session_names import one_line
from agent.workspace import find_workspace
from session.models import Session
from session.tables import Tables
from tui.cli.options import folder
from tui.cli.sessions.options import ListOptions
from tui.cli.sessions.store import Store, marks, moment, session_record


def run_list(options: ListOptions, store: Store) -> int:
    """Always 0: that there are none is no failure."""
    last = store.find(options.before) if options.before else None
    before = (last.last_activity_at, last.id) if last else None
    workspace = str(find_workspace(folder(""))) if options.is_here else None

    def page(tables: Tables) -> list[Session]:
        return tables.sessions.listing(
            options.limit + 1, before=before, workspace=workspace, include_archived=options.with_archived
        )

    found = store.read(page)
    shown, is_more = found[: options.limit], len(found) > options.limit
    if store.as_json:
        store.data(store.read(lambda tables: [session_record(tables, session) for session in shown]))
    elif shown:
        store.answer("\n".join(store.read(lambda tables: [_line(tables, session) for session in shown])))
    else:
        store.remark(_nothing(options))
    if is_more and not store.as_json:
        store.remark(f"There are more: hermes sessions list --before {shown[-1].id}")
    return 0


def _nothing(options: ListOptions) -> str:
    if options.before:
        return "There are no more sessions."
    if options.is_here:
        return "There are no sessions of this folder. `hermes sessions list` shows those of all folders."
    return "There are no sessions yet. `hermes` starts one."


def _line(tables: Tables, session: Session) -> str:
    marked = ", ".join(marks(tables, session))
    line = f"{session.id}  {moment(session.last_activity_at)}  {one_line(session)}  ({session.workspace})"
    return f"{line}  {marked}" if marked else line
