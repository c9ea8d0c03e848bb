"""`/processes`: what the commands of this profile left running, here or when a hermes died, and stopping it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.commands.table import Effect, Page, Said
from agent.hub import Hub
from agent.tools import jobs
from agent.tools.jobs import Job
from agent.tools.leftovers import NOT_FOUND, Leftover, leftovers, stop
from agent.tools.process import described
from agent.tools.shell_run import listed
from session.models import Level


async def processes(hub: Hub, session_id: str, argument: str) -> Effect:
    home = hub.profile.home
    here, found = jobs.under(home.outputs), await asyncio.to_thread(leftovers, home.running)
    match argument.split():
        case []:
            return await _told(hub, here, found)
        case ["stop"]:
            return await _stopped(hub, None, found)
        case ["stop", number] if number.isdecimal():
            job = await asyncio.to_thread(jobs.find, here, int(number))
            theirs = [one for one in found if int(number) in {process.pid for process in one.processes}]
            return await _stopped(hub, job, theirs)
        case _:
            return Said("Write /processes, /processes stop or /processes stop NUMBER.", Level.WARNING)


async def _told(hub: Hub, here: Sequence[Job], found: Sequence[Leftover]) -> Effect:
    if not here and not found:
        return Said(f"No command of this profile is running. {NOT_FOUND}")
    lines = await asyncio.to_thread(lambda: [described(job) for job in here])
    lines += [f"Left by a hermes that was killed: {leftover}" for leftover in found]
    block = hub.profile.secrets.mask("\n".join(lines)).replace("```", "` ` `")
    return Page(
        "Processes", f"```text\n{block}\n```\n\nStop one: `/processes stop NUMBER`. All ends with hermes. {NOT_FOUND}"
    )


async def _stopped(hub: Hub, job: Job | None, found: Sequence[Leftover]) -> Effect:
    if job is None and not found:
        return Said("There is no such process. /processes lists those there are.", Level.WARNING)
    survivors = await jobs.end(job) if job else []
    survivors += await asyncio.to_thread(stop, hub.profile.home.running, found)
    if survivors:
        return Said(hub.profile.secrets.mask(f"Still there, though killed: {listed(survivors)}."), Level.ERROR)
    return Said("It was ended with all that it started.")
