"""Opening a stored session from the command line."""

from __future__ import annotations

import asyncio

from agent.approvals.shell_verdict import Mode
from agent.hub import Hub
from agent.personality import is_none
from agent.runtime import Runtime


async def open_stored(hub: Hub, name: str, model: str) -> Runtime:
    """The session of this id, beginning of an id or title, on another model where one is named. Raises UserError."""
    from agent.session_names import named

    session = await asyncio.wrap_future(hub.profile.db.read(lambda tables: named(tables, name)))
    runtime = await hub.open(session.id)
    if model:
        await runtime.switch(hub.models.resolve(model, runtime.s.route))
    return runtime


async def set_up(runtime: Runtime, mode: str, personality: str) -> None:
    """Give a session the mode and the personality that the command line names, "" for as it is. Raises UserError."""
    if mode:
        await runtime.set_mode(Mode(mode))
    if personality:
        await runtime.set_personality("" if is_none(personality) else await _personality(runtime, personality))


async def _personality(runtime: Runtime, name: str) -> str:
    return (await asyncio.to_thread(runtime.s.parts.prompts.read_personalities)).named(name).name
