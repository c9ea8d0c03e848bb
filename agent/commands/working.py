"""/stop, /queue and /steer: what one does about a model that works."""

from __future__ import annotations

import asyncio

from agent.commands.table import Command, Effect, Said, When
from agent.hub import Hub
from agent.tools import jobs
from agent.tools.jobs import Job
from agent.tools.shell_run import listed
from session.models import Level

UNCONFIRMED = "Send it as a prompt first: it is asked about before this provider is used."


async def _stop(hub: Hub, session_id: str, argument: str) -> Effect:
    """The turn, and all that the commands of the session left running."""
    was_busy = hub.interrupt(session_id)
    running = await _running(hub, session_id)
    survivors = [one for job in running for one in await jobs.end(job)]
    if survivors:
        return Said(hub.profile.secrets.mask(f"Still there, though killed: {listed(survivors)}."), Level.ERROR)
    commands = f"{len(running)} command{'' if len(running) == 1 else 's'} in the background"
    match was_busy, bool(running):
        case True, True:
            return Said(f"Stopped: the turn, and {commands}.")
        case True, False:
            return Said("Stopped: the turn. Nothing of this session runs in the background.")
        case False, True:
            return Said(f"Stopped: {commands}.")
        case _:
            return Said("Nothing of this session runs.")


async def _running(hub: Hub, session_id: str) -> list[Job]:
    """The commands of a session that go on behind a turn."""
    found = [
        job
        for job in jobs.under(hub.profile.home.outputs / session_id)
        if job.is_background or job.exit_code is not None
    ]
    return await asyncio.to_thread(
        lambda: [job for job in found if job.exit_code is None or job.supervised.processes()]
    )


async def _queue(hub: Hub, session_id: str, argument: str) -> Effect:
    runtime = hub.runtime(session_id)
    if argument:
        if why := _unconfirmed(hub, session_id):
            return why
        runtime.submit(argument)
        return Said(
            "Queued: it is sent when this turn has ended." if runtime.is_busy else "Nothing runs, so it is sent."
        )
    count = len(runtime.queue)
    if not count:
        return Said("Nothing is queued. What is sent while a turn runs waits in line; so does /queue TEXT.")
    held = " They wait until you send one." if runtime.queue_is_held else ""
    return Said(f"{count} queued.{held}")


async def _steer(hub: Hub, session_id: str, argument: str) -> Effect:
    if not argument:
        return Said("Write /steer and what the model is to know while it works.", Level.WARNING)
    runtime = hub.runtime(session_id)
    if runtime.steer(argument):
        return Said("The model gets it behind the next result, else as the next prompt.")
    if why := _unconfirmed(hub, session_id):
        return why
    runtime.submit(argument)
    return Said("It waits in line." if runtime.queue else "No model works here, so it is sent as a prompt.")


def _unconfirmed(hub: Hub, session_id: str) -> Said | None:
    return Said(UNCONFIRMED, Level.WARNING) if hub.needs_confirmation(session_id) else None


WORKING_COMMANDS: tuple[Command, ...] = (
    Command("stop", "", "stops the turn and what runs in the background of this session", When.ALWAYS, _stop),
    Command("queue", "[text]", "queues a prompt behind the turn, or tells how many wait", When.ALWAYS, _queue, ("q",)),
    Command("steer", "text", "tells the model something while it works, behind the next result", When.ALWAYS, _steer),
)
