"""Taking in what another process did to a session that is open here, as far as nothing of our own stands in the way."""

from __future__ import annotations

from msgspec.structs import replace

from agent.elsewhere import Seen, known_of
from agent.events import RowsReplaced, TurnEvent
from agent.runtime import Runtime
from session.errors import SessionDeleted


def take_in(runtime: Runtime, seen: Seen) -> list[TurnEvent]:
    """What is to be announced of it."""
    if seen.session is None:
        runtime.lose(SessionDeleted(session_id=seen.session_id))
        return []
    runtime.let_go(seen.unqueued)
    runtime.elsewhere = None if runtime.is_busy else seen.worked_in
    s, is_revised = runtime.s, seen.session.revision != seen.known.revision
    if runtime.is_busy or known_of(s) != seen.known:  # a turn of our own reads for itself what is new
        s.session = replace(s.session, title=seen.session.title, title_source=seen.session.title_source)
        return []
    if seen.session.route != s.session.route:
        runtime.model.hear(seen.session)
    s.session = seen.session
    if not is_revised:
        return [s.remember(row) for row in seen.rows]
    s.rows = seen.rows
    return [RowsReplaced(s.stamp())]
