"""Which session a person means by an id, a title, the beginning of one, or a link to one."""

from __future__ import annotations

from collections.abc import Sequence

from agent.hub import NoSuchSession
from session.errors import UserError
from session.models import Session
from session.tables import Tables
from session.titles import UNTITLED

MOST_CANDIDATES = 8
LINK = "@session:"


class AmbiguousSession(UserError):
    """Several sessions begin as what was typed."""

    sentence = "{text} may be one of {number} sessions: {candidates}. Type more of the id, or the whole title."


def named(tables: Tables, text: str) -> Session:
    """The session of this id or title, or the only one whose id begins so. Raises NoSuchSession or AmbiguousSession."""
    return the_one(tables.sessions.find(text), text)


def linked_id(text: str) -> str:
    """The id in `@session:ID` or `@session:PROFILE/ID`, and any other text as it is.

    The name of a profile says nothing: ids differ anyway, and a profile may have got another name since.
    """
    return text.removeprefix(LINK).rpartition("/")[2] if text.startswith(LINK) else text


def the_one(found: Sequence[Session], text: str) -> Session:
    match found:
        case []:
            raise NoSuchSession(session_id=text or '""')
        case [session]:
            return session
        case _:
            raise AmbiguousSession(text=text, number=len(found), candidates=_candidates(found))


def one_line(session: Session) -> str:
    return " ".join(session.title.split()) or UNTITLED


def _candidates(sessions: Sequence[Session]) -> str:
    shown = [f"{session.id} ({one_line(session)})" for session in sessions[:MOST_CANDIDATES]]
    return ", ".join([*shown, "…"] if len(sessions) > MOST_CANDIDATES else shown)
