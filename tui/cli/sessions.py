"""`hermes sessions`: what is stored, for people and for programs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from msgspec import to_builtins

from agent.config.masking import Masking
from agent.hub import NoSuchSession
from agent.profile import Profile
from session.models import EndReason, Message, Session
from session.tables import Tables
from tui.cli.console import answer, data, remark
from tui.cli.options import ExportOptions, ListOptions

Record = dict[str, object]


def run_sessions(options: ListOptions | ExportOptions, environ: Mapping[str, str]) -> int:
    """Raises UserError."""
    profile = Profile.load(environ, name=options.profile)
    try:
        match options:
            case ListOptions(limit, as_json):
                sessions = profile.db.read(lambda tables: tables.sessions.listing(limit)).result()
                _print_list(sessions, as_json, profile.secrets.masking)
            case ExportOptions(session_id):
                session, rows = profile.db.read(lambda tables: _stored(tables, session_id)).result()
                record = {**_session_record(session), "messages": [_row_record(row) for row in rows]}
                data(json.dumps(profile.secrets.masking.deep(record)))
    finally:
        profile.close()
    return 0


def _stored(tables: Tables, session_id: str) -> tuple[Session, list[Message]]:
    session = tables.sessions.get(session_id)
    if session is None or session.end_reason is EndReason.DELETED:
        raise NoSuchSession(session_id=session_id)
    return session, tables.messages.all(session_id)


def _print_list(sessions: list[Session], as_json: bool, masking: Masking) -> None:
    if as_json:
        data(json.dumps([masking.deep(_session_record(session)) for session in sessions]))
    elif sessions:
        answer(masking.text("\n".join(_line(session) for session in sessions)))
    else:
        remark("There are no sessions yet. `hermes` starts one.")


def _line(session: Session) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.last_activity_at))
    title = " ".join(session.title.split())
    return f"{session.id}  {when}  {title}  ({session.workspace})"


def _session_record(session: Session) -> Record:
    return {**to_builtins(session), "title_source": session.title_source.name.lower()}


def _row_record(row: Message) -> Record:
    """A row without the fields that do not belong to its role."""
    record: Record = to_builtins(row)
    return {key: value for key, value in record.items() if value not in ("", None, [])} | {"content": row.content}
