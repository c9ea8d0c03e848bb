"""/personality: how the model speaks in a session, and in new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.commands.suggestions import Suggestion
from agent.commands.table import Command, Effect, PersonalityAsked, Said, When
from agent.hub import Hub
from agent.personality import is_none
from session.errors import UserError

GLOBAL = "--global"


class NotAPersonality(UserError):
    """What stands behind /personality can't be followed."""

    sentence = "Write /personality NAME, with --global for every new session, too; /personality none ends one."


async def personality(hub: Hub, session_id: str, argument: str) -> Effect:
    """With a name the session changes; without one, the person chooses from a list. Raises NotAPersonality."""
    words = [word for word in argument.split() if word != GLOBAL]
    is_global = len(words) < len(argument.split())
    match words:
        case []:
            return PersonalityAsked(session_id, is_global)
        case [name]:
            return await choose(hub, session_id, name, is_global=is_global)
        case _:
            raise NotAPersonality


async def choose(hub: Hub, session_id: str, name: str, *, is_global: bool = False) -> Said:
    """Let the model speak so from the next prompt on. Raises UserError, and nothing is changed then."""
    runtime = hub.runtime(session_id)
    prompts = runtime.s.parts.prompts
    wanted = "" if is_none(name) else (await asyncio.to_thread(prompts.read_personalities)).named(name).name
    if is_global:
        await asyncio.to_thread(prompts.save_new_personality, wanted)
    await runtime.set_personality(wanted)
    also = ", and in every new session" if is_global else ""
    if not wanted:
        return Said(f"The model speaks in its own way again in this session{also}.")
    return Said(
        f"From the next prompt on the model speaks as {wanted} in this session{also}. /personality none ends it."
    )


def personalities(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    """What /personality can be followed by: as they were read last."""
    known = hub.runtime(session_id).s.parts.prompts.personalities.by_name.values()
    named = [Suggestion(one.name, one.about) for one in known]
    name, blank, _ = written.partition(" ")
    if blank:
        return [Suggestion(f"{name} {GLOBAL}", "in every new session, too")]
    return [*named, Suggestion("none", "the model's own way")]


PERSONALITY_COMMAND = Command(
    "personality",
    "[name|none] [--global]",
    "chooses how the model speaks: in this session, or also in every new one",
    When.ALWAYS,
    personality,
    complete=personalities,
)
