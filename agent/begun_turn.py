"""The first step of a turn in the store: what the person asked, behind all that other processes did there meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from session.errors import SessionDeleted, UserError
from session.models import Finish, Message, Partial, Session
from session.settlement import Settlement, settle
from session.tables import Tables

LEFT_OPEN = "its turn could not be finished"


class SentElsewhere(UserError):
    """The row of a queued text is gone: another process sent it, or took it back."""

    sentence = "This queued prompt was already sent or taken back by another hermes, so it was not sent a second time."


class Begun(Struct, frozen=True):
    """What stands in the store now: `standing` are all rows where they are others than were known, None else.

    `settled` is what had to be settled of an earlier turn, `rows` are those that are new here, `asked_id` is the prompt's.
    """

    session: Session
    standing: list[Message] | None
    settled: Settlement | None
    rows: list[Message]
    asked_id: int


class Beginning(Struct, frozen=True):
    """What a turn begins with. `known_id` tells the last row that is known here, by the id that it has by then.

    `said` is what an answer had said that was left open, `prompt` the system prompt, `queued_id` the row in which the
    text waited, 0 for none.
    """

    session: Session
    is_new: bool
    source: str
    prompt: str
    known_id: Callable[[], int]
    said: Partial
    notices: Sequence[Message]
    asked: Message
    queued_id: int

    def store(self, tables: Tables) -> Begun:
        """Raises SessionDeleted or SentElsewhere."""
        at, known, id_ = self.asked.created_at, self.session, self.session.id
        session = tables.sessions.create(known) if self.is_new else revised(tables, known)
        standing = tables.messages.all(id_) if session.revision != known.revision else None
        last_id = self.known_id() if standing is None else last_row_id(standing)
        tables.sessions.claim_source(id_, self.source)
        tables.sessions.set_prompt(id_, tables.prompts.put(self.prompt))
        settled = None
        if tables.turns.open_since(id_) is not None:
            tables.partials.put(id_, self.said, at)
            settled = settle(tables, id_, finish=Finish.CUT, cause=LEFT_OPEN, at=at, keep_waiting=False)
        if self.queued_id and not tables.queued.remove(self.queued_id):
            raise SentElsewhere
        tables.turns.begin(id_, at)
        for row in self.notices:
            tables.messages.append(row)
        asked_id = tables.messages.append(self.asked).id
        return Begun(session, standing, settled, tables.messages.after(id_, last_id), asked_id)


def revised(tables: Tables, session: Session) -> Session:
    """The session with what is true of its rows in the store: others may have taken some out of it, or added some.

    One that was ended is open again: it is gone on with.
    """
    stored = tables.sessions.get(session.id)
    if stored is None:
        raise SessionDeleted(session_id=session.id)
    if stored.end_reason is not None:
        tables.sessions.reopen(session.id)
    return replace(
        session,
        route=stored.route,
        rewinds=stored.rewinds,
        revision=stored.revision,
        anchors=stored.anchors,
        compaction=stored.compaction,
        ended_at=None,
        end_reason=None,
        is_archived=False,
    )


def last_row_id(rows: Sequence[Message]) -> int:
    return rows[-1].id if rows else 0
