"""/setup: a first model, or another one, from what can be had at once."""

from __future__ import annotations

from agent.commands.table import Command, Effect, SetupAsked, When
from agent.hub import Hub


async def setup(hub: Hub, session_id: str, argument: str) -> Effect:
    return SetupAsked(session_id)


SETUP_COMMAND = Command(
    "setup", "", "chooses a first model: a server on this machine, a key, or the demo", When.IDLE, setup
)
