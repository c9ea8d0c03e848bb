"""/trust: what the folder at hand brings that would act, and whether it may."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent.commands.table import Command, Effect, Said, TrustAsked, When
from agent.config.home import launch_home
from agent.config.trust import Standing, Trust
from agent.hub import Hub
from agent.workspace import find_workspace
from session.models import Level

MOST_LINES = 12  # what does not fit into a question is for the command line, where all of it is shown
HELD = "Trusted. It holds from the next start."


async def trust(hub: Hub, session_id: str, argument: str) -> Effect:
    """Lead to the question, where there is something to ask."""
    if hub.profile.is_routed:
        return Said("Trust is kept by the profile hermes was started with. See: hermes trust add", Level.WARNING)
    folder = find_workspace(Path(hub.runtime(session_id).s.session.cwd))
    kept = Trust.of(launch_home(hub.profile.environ))
    found = await asyncio.to_thread(kept.would_act, folder)
    waiting = tuple(one for one in found if one.standing in (Standing.NEW, Standing.CHANGED))
    if not waiting:
        return Said(f"Nothing in {folder} waits to be trusted.")
    lines = await asyncio.to_thread(lambda: [f"{one.path} {does}" for one in waiting for does in one.does])
    if len(lines) > MOST_LINES:
        return Said(f"There is too much to show here. In a shell in {folder}: hermes trust add", Level.WARNING)
    told = hub.profile.secrets.mask("\n".join(f"· {line}" for line in lines))
    return TrustAsked(str(folder), told, lambda: kept.add(folder, found))


TRUST_COMMAND = Command("trust", "", "asks whether what this folder brings may act", When.ALWAYS, trust)
