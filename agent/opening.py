"""A stored session read into memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent.approvals.shell_verdict import Mode
from agent.masked_rows import masked_row, masked_session
from agent.open_session import OpenSession
from agent.parts import Parts
from agent.prompt_of_session import ready_prompt
from agent.session_options import read_options
from session.models import Route, Session


async def read_session(parts: Parts, session_id: str, route_of: Callable[[Session], Route]) -> OpenSession | None:
    """None where there is no such session. `route_of` tells where a session as it is stored goes on."""
    stored = await asyncio.wrap_future(parts.db.read(lambda tables: tables.sessions.get(session_id)))
    if stored is None:
        return None
    masking = parts.secrets.masking  # a secret may be known only since it was stored
    rows = await asyncio.wrap_future(
        parts.db.read(lambda tables: [masked_row(masking, row) for row in tables.messages.all(session_id)])
    )
    stored = masked_session(masking, stored)
    kept = await asyncio.wrap_future(parts.db.read(lambda tables: tables.prompts.get(stored.prompt_hash)))
    s = OpenSession(parts, stored, route_of(stored), rows)
    await ready_prompt(s, kept)
    s.options = await asyncio.wrap_future(parts.db.read(lambda tables: read_options(tables, session_id)))
    await asyncio.to_thread(s.context)  # a long conversation is looked through once, off the loop
    s.meter.begin()
    s.mode = next((mode for mode in Mode if mode.value == stored.mode and mode is not Mode.YOLO), Mode.ASK)
    return s


def asked_nothing(stored: Session) -> bool:
    """Whether a session was left in yolo mode, which never outlives its process."""
    return stored.mode == Mode.YOLO.value
