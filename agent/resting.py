"""Which open sessions can be closed: those that the store brings back as they are."""

from __future__ import annotations

from agent.approvals.shell_verdict import Mode
from agent.open_session import OpenSession
from agent.runtime import Runtime
from agent.session_run import Live


def is_at_rest(runtime: Runtime) -> bool:
    """Whether nothing runs, waits or failed in a session, and all that is known of it here is in the store.

    One that failed stays as it is, so that the list goes on saying so.
    """
    is_still = runtime.state is Live.IDLE and not runtime.has_unsent
    return is_still and not _has_own_model(runtime) and _is_as_stored(runtime.s)


def _has_own_model(runtime: Runtime) -> bool:
    """Whether its next turn has a model that is on no row."""
    model = runtime.model
    return model.is_once or model.is_unwritten or model.coming is not None


def _is_as_stored(s: OpenSession) -> bool:
    """What is kept in memory alone: yolo mode, a secret that was typed, words that are said with the next prompt."""
    is_written = s.is_stored and s.backlog.is_idle and not s.parts.titles.is_asking(s.id)
    has_more = s.mode is Mode.YOLO or s.told() is not s.rows or bool(s.opening_notice) or s.speech.is_outdated
    return is_written and not has_more
