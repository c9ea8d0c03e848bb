"""What a person says while the model works: told to it behind the next result, so that no prompt of its own is needed.

Until then it waits in the queue like any prompt, with a row there; where the turn ends without another result, it is one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from agent.events import QueueChanged, TurnEvent
from agent.masked_rows import masked_row
from agent.open_session import OpenSession
from agent.steer_note import MARK
from session.models import Message, Role
from session.tables import Tables

SAID = "You added: {text}"


async def steer(s: OpenSession) -> list[TurnEvent]:
    """Before a request: what waited goes to the last result, if no model has read that yet."""
    place = _unread_result(s.rows)
    steers = s.take_steers() if place is not None else ()
    if place is None or not steers:
        return []
    row = s.rows[place]
    texts = [(s.masking.text(text), row_id) for text, row_id in steers]
    s.rows[place] = _with(row, [text for text, _ in texts])  # at once: the turn may be interrupted while this is stored

    def store(tables: Tables) -> tuple[Message, Message] | None:
        """What another process sent or took back meanwhile is not said again."""
        left = [text for text, row_id in texts if not row_id or tables.queued.remove(row_id)]
        if not left:
            return None
        told = _with(row, left)
        tables.messages.set_sent(s.backlog.id_now(row.id), told.sent)
        notice = Message(s.id, Role.NOTICE, SAID.format(text="\n".join(left)), time.time())
        return told, tables.messages.append(masked_row(s.masking, notice))

    stored = await s.write(store)
    s.rows[place] = replace(row if stored is None else stored[0], id=s.rows[place].id)
    said = [] if stored is None else [s.remember(stored[1])]
    return [*said, QueueChanged(s.stamp())]


def _with(row: Message, texts: Iterable[str]) -> Message:
    added = "\n".join(texts)
    return replace(row, sent=f"{row.sent or row.content}\n\n{MARK}\n{added}")


def _unread_result(rows: Sequence[Message]) -> int | None:
    """The place of the last result, where nothing but notices stands behind it."""
    for place in range(len(rows) - 1, -1, -1):
        if rows[place].role is Role.TOOL:
            return place
        if rows[place].role is not Role.NOTICE:
            return None
    return None
