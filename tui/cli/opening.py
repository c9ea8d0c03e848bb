"""Opening a stored session from the command line."""

from __future__ import annotations

from agent.hub import Hub
from agent.runtime import Runtime


async def open_stored(hub: Hub, session_id: str, model: str) -> Runtime:
    """The session, on another model where one is named. Raises UserError."""
    runtime = await hub.open(session_id)
    if model:
        await runtime.switch(hub.resolve(model, runtime.s.route))
    return runtime
