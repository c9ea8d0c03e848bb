"""/details, /redraw, /reload, /logs, /doctor, /keys and /palette: what only the program around the sessions can do, or tell."""

from __future__ import annotations

from collections.abc import Sequence

from agent.commands.suggestions import Suggestion, beginning
from agent.commands.table import Command, Effect, OnScreen, Said, ScreenAsked, When
from agent.hub import Hub
from agent.prompt_of_session import invalidate_prompt
from session.models import Level

LOG_LINES, MOST_LINES = 100, 2_000
FOLDED, OPEN = "folded", "open"


async def _details(hub: Hub, session_id: str, argument: str) -> Effect:
    match argument.lower():
        case "open" | "expanded":
            return ScreenAsked(OnScreen.UNFOLD)
        case "folded" | "collapsed":
            return ScreenAsked(OnScreen.FOLD)
        case _:
            return Said("Write /details open or /details folded.", Level.WARNING)


async def _redraw(hub: Hub, session_id: str, argument: str) -> Effect:
    return ScreenAsked(OnScreen.REDRAW)


async def _reload(hub: Hub, session_id: str, argument: str) -> Effect:
    await hub.profile.secrets.refresh()
    invalidate_prompt(hub.runtime(session_id).s)
    return ScreenAsked(OnScreen.RELOAD)


async def _logs(hub: Hub, session_id: str, argument: str) -> Effect:
    if argument and not (argument.isdecimal() and 0 < int(argument[:9]) <= MOST_LINES):
        return Said(f"Write /logs, or /logs and a number of lines up to {MOST_LINES:,}.", Level.WARNING)
    return ScreenAsked(OnScreen.LOG, int(argument or LOG_LINES))


async def _doctor(hub: Hub, session_id: str, argument: str) -> Effect:
    return ScreenAsked(OnScreen.DOCTOR)


async def _keys(hub: Hub, session_id: str, argument: str) -> Effect:
    return ScreenAsked(OnScreen.KEYS)


async def _palette(hub: Hub, session_id: str, argument: str) -> Effect:
    return ScreenAsked(OnScreen.PALETTE)


def _details_words(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    words = [Suggestion(OPEN, "all of each call and thought"), Suggestion(FOLDED, "a few lines of each")]
    return beginning(words, written)


SCREEN_COMMANDS: tuple[Command, ...] = (
    Command(
        "details",
        "open|folded",
        "unfolds all calls and thoughts of this conversation, or folds them",
        When.ALWAYS,
        _details,
        complete=_details_words,
    ),
    Command("redraw", "", "draws the screen anew", When.ALWAYS, _redraw),
    Command("reload", "", "reads settings, keys, themes and what the prompt is made of anew", When.ALWAYS, _reload),
    Command("logs", "[lines]", "shows the last lines of the log", When.ALWAYS, _logs),
    Command("doctor", "", "tells what is wrong here and what to do about it", When.ALWAYS, _doctor),
    Command("keys", "", "lists the keys with their names, and those that you changed", When.ALWAYS, _keys),
    Command("palette", "", "finds a command, a key or a session, and goes there", When.ALWAYS, _palette),
)
