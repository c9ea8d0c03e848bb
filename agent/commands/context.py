"""/context, /usage and /compact."""

from __future__ import annotations

import time

from agent.commands.table import Effect, Reported, Said
from agent.hub import Hub
from agent.prompt_of_session import ready_prompt

# The reports are imported where they are made: a start need not pay for them.


async def tell_context(hub: Hub, session_id: str, argument: str) -> Effect:
    from agent.commands.context_report import context_asked
    from agent.context.compaction import plan_of
    from agent.context.of_session import split_of

    s = hub.runtime(session_id).s
    if not s.speech.base:
        await ready_prompt(s)
    return context_asked(split_of(s), await plan_of(s), s.route, time.time())


async def tell_usage(hub: Hub, session_id: str, argument: str) -> Effect:
    from agent.commands.usage_report import usage_report
    from agent.spending import read_spending

    s = hub.runtime(session_id).s
    return Reported(usage_report(await read_spending(s.parts, session_id), s.parts.limits_of(s.route)))


async def compact(hub: Hub, session_id: str, argument: str) -> Effect:
    match argument.lower():
        case "preview":
            from agent.commands.context_report import preview
            from agent.context.compaction import plan_of

            return Reported(preview(await plan_of(hub.runtime(session_id).s), hub.context(session_id)))
        case "undo":
            await hub.undo_compaction(session_id)
            return Said("The compaction was undone.")
        case _:
            hub.compact(session_id, argument)
            return Said("Compacting. Interrupting it changes nothing.")
