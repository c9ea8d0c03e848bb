"""/trust: what the folder at hand brings that would act, and whether it may."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from agent.commands.table import Command, Effect, Said, TrustAsked, When
from agent.config.home import launch_home
from agent.config.project_files import CONFIG, Kind
from agent.config.trust import Acting, Standing, Trust
from agent.hub import Hub
from agent.workspace import find_workspace
from session.models import Level

MOST_LINES = 12  # what does not fit into a question is for the command line, where all of it is shown
REFUSED = "trust refused:"  # and behind it a folder: the files there that a person did not trust


async def trust(hub: Hub, session_id: str, argument: str) -> Effect:
    """Lead to the question, where there is something to ask."""
    if hub.profile.is_routed:
        return Said("Trust is kept by the profile hermes was started with. See: hermes trust add", Level.WARNING)
    folder = _folder(hub, session_id)
    waiting = await asyncio.to_thread(_waiting, hub, folder)
    if not waiting:
        return Said(f"Nothing in {folder} waits to be trusted.")
    asked = await _question(hub, folder, waiting)
    if asked is None:
        return Said(f"There is too much to show here. In a shell in {folder}: hermes trust add", Level.WARNING)
    return asked


async def first_question(hub: Hub, session_id: str) -> TrustAsked | None:
    """What a person is asked by itself when hermes starts in a folder: until they answered for the files as they are."""
    if hub.profile.is_routed:
        return None
    folder = _folder(hub, session_id)
    waiting = await asyncio.to_thread(_waiting, hub, folder)
    if not any(one.is_used for one in waiting):
        return None
    refused = await asyncio.wrap_future(hub.profile.db.read(lambda tables: tables.state.get(f"{REFUSED}{folder}")))
    return None if refused == _files(waiting) else await _question(hub, folder, waiting)


def _folder(hub: Hub, session_id: str) -> Path:
    return find_workspace(Path(hub.runtime(session_id).s.session.cwd))


def _kept(hub: Hub) -> Trust:
    return Trust.of(launch_home(hub.profile.environ))


def _waiting(hub: Hub, folder: Path) -> tuple[Acting, ...]:
    """The files that would act and are not trusted as they are. Blocks."""
    return tuple(one for one in _kept(hub).would_act(folder) if one.standing in (Standing.NEW, Standing.CHANGED))


async def _question(hub: Hub, folder: Path, waiting: Sequence[Acting]) -> TrustAsked | None:
    """None where there is more to show than a question has room for."""
    lines = await asyncio.to_thread(lambda: [f"{one.path} {does}" for one in waiting for does in one.does])
    if len(lines) > MOST_LINES:
        return None
    told = hub.profile.secrets.mask("\n".join(f"· {line}" for line in lines))

    async def take() -> str:
        kept = _kept(hub)
        found = [one for one in await asyncio.to_thread(kept.would_act, folder) if one.standing is Standing.TRUSTED]
        await asyncio.to_thread(kept.add, folder, [*found, *waiting])
        hub.invalidate_prompts(folder)
        return _held(waiting)

    async def refuse() -> None:
        put = hub.profile.db.write(lambda tables: tables.state.put(f"{REFUSED}{folder}", _files(waiting)))
        await asyncio.wrap_future(put)

    return TrustAsked(str(folder), told, take, refuse)


def _held(trusted: Sequence[Acting]) -> str:
    """From when on it holds: the prompt is made of these files anew, settings are read once."""
    kinds = {one.kind for one in trusted if one.is_used}
    if Kind.CONFIG not in kinds:
        return "Trusted. It holds from the next prompt." if kinds else "Trusted."
    more = " What is for the model holds from the next prompt." if Kind.INSTRUCTIONS in kinds else ""
    return f"Trusted. {CONFIG} holds from the next start of hermes.{more}"


def _files(waiting: Sequence[Acting]) -> str:
    """These files as they are, as one short text."""
    return sha256("\n".join(f"{one.path} {one.digest}" for one in waiting).encode()).hexdigest()


TRUST_COMMAND = Command("trust", "", "asks whether what this folder brings may act", When.ALWAYS, trust)
