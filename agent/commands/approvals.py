"""/approvals, /mode and /yolo: what runs unasked, and how much is asked at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from agent.approvals.grants import SameCall
from agent.approvals.shell_verdict import Mode
from agent.approvals.standing import Source, Standing
from agent.commands.suggestions import Suggestion
from agent.commands.table import Effect, Page, Said
from agent.hub import Hub
from session.models import Level

PLACES = {
    Source.SESSION: "this session",
    Source.PROJECT: "this project, in config.yaml",
    Source.EVERYWHERE: "everywhere, in config.yaml",
}
MEANINGS = {
    Mode.ASK: "asks before anything is changed",
    Mode.ACCEPT_EDITS: "changes files of the workspace unasked; asks about all else",
    Mode.PLAN: "only reads; what would change something is refused",
    Mode.YOLO: "asks about nothing but protected files; what is forbidden stays so",
}


async def approvals(hub: Hub, session_id: str, argument: str) -> Effect:
    s = hub.runtime(session_id).s
    root, grants = s.place.root, s.parts.grants
    rules = [*(await asyncio.to_thread(grants.held, session_id, root)).standing]
    found: list[Standing | SameCall] = [*rules, *grants.calls(session_id)]
    match argument.split():
        case []:
            return _listed(hub, found, s.mode)
        case ["revoke", number] if number.isdecimal() and 0 < int(number) <= len(found):
            one = found[int(number) - 1]
            if isinstance(one, tuple):
                grants.disallow_call(session_id, one)
                return Said("That call is asked about again.")
            is_gone = await asyncio.to_thread(grants.revoke, session_id, root, one)
            return Said(f"The rule “{one}” is gone." if is_gone else ELSEWHERE.format(one), Level.INFO)
        case ["revoke", _]:
            return Said("There is no such rule. /approvals lists those there are, with their numbers.", Level.WARNING)
        case _:
            return Said("Write /approvals or /approvals revoke NUMBER.", Level.WARNING)


ELSEWHERE = "The rule “{}” does not stand in config.yaml (any more); a flag or a project may give it."


def _listed(hub: Hub, found: Sequence[Standing | SameCall], mode: Mode) -> Effect:
    about = f"This session {MEANINGS[mode]} (mode {mode})."
    if not found:
        return Said(f"{about} No rules stand.")
    lines = [f"{number:>3}  {_line(one)}" for number, one in enumerate(found, 1)]
    block = hub.profile.secrets.mask("\n".join(lines)).replace("```", "` ` `")
    return Page("Approvals", f"{about}\n\n```text\n{block}\n```\n\nTake one back: `/approvals revoke NUMBER`.")


def _line(one: Standing | SameCall) -> str:
    if isinstance(one, Standing):
        return f"{one.kind}: {one}  ({PLACES[one.source]})"
    name, arguments, _ = one
    return f"{name}: this very call {json.dumps(json.loads(arguments), ensure_ascii=False)}  ({PLACES[Source.SESSION]})"


def modes(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    """What /mode can be followed by."""
    return [Suggestion(mode.value, meaning) for mode, meaning in MEANINGS.items()]


async def mode(hub: Hub, session_id: str, argument: str) -> Effect:
    runtime, names = hub.runtime(session_id), ", ".join(Mode)
    if not argument:
        return Said(f"Mode {runtime.mode}: this session {MEANINGS[runtime.mode]}. There are: {names}.")
    wanted = next((one for one in Mode if one.value == argument.lower()), None)
    if wanted is None:
        return Said(f"There is no mode {argument}. There are: {names}.", Level.WARNING)
    await runtime.set_mode(wanted)
    return Said(f"Mode {wanted}: this session {MEANINGS[wanted]}.")


async def yolo(hub: Hub, session_id: str, argument: str) -> Effect:
    """On, and off again."""
    is_on = hub.runtime(session_id).mode is Mode.YOLO
    return await mode(hub, session_id, Mode.ASK if is_on else Mode.YOLO)
