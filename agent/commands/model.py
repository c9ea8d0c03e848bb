"""/model: which model answers in a session, for how long, and what a person should know before it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from agent.commands.suggestions import Suggestion, beginning
from agent.commands.table import Effect, ModelsAsked, Said, SwitchAsked
from agent.hub import Hub
from agent.session_model import Holds
from session.errors import UserError
from session.models import ApiMode, Level, Route

_DASHES = "-‐‑‒–—―−﹘﹣－"  # what word processors and phones make of two hyphens
_FLAG = re.compile(rf"[{_DASHES}]+([a-z]+)(?:=(.*))?", re.IGNORECASE)


class NotAChoice(UserError):
    """What stands behind /model can't be followed."""

    sentence = "{why} Write /model provider:model, with --once for the next turn or --global for every new session."


class Wish(Struct, frozen=True):
    """What was asked for: `name` as a person writes a model, "" where only `holds` was said."""

    name: str
    holds: Holds


class Decision(StrEnum):
    """What a person answers when a switch is asked about."""

    SWITCH = "switch"  # now, or as soon as the turn has ended
    INTERRUPT = "interrupt"  # the turn, and then


def read_wish(argument: str) -> Wish:
    """Colons and slashes stand in the names of models, so only blanks part words. Raises NotAChoice."""
    names: list[str] = []
    holds: list[Holds] = []
    provider = ""
    words = iter(argument.split())
    for word in words:
        flag = _FLAG.fullmatch(word)
        match (flag[1].lower(), flag[2]) if flag else ("", None):
            case "", _:
                names.append(word)
            case "provider", given:
                provider = given or next(words, "")
                if not provider:
                    raise NotAChoice(why="--provider takes the name of a provider.")
            case ("session" | "once" | "global") as named, None:
                holds.append(Holds(named))
            case _:
                raise NotAChoice(why=f"/model has no option {word}.")
    if len(set(holds)) > 1:
        raise NotAChoice(why=f"--{holds[0]} and --{holds[1]} exclude each other.")
    name = " ".join(names)  # a file on the disk of a local server may have blanks in its name
    return Wish(f"{provider}:{name}".rstrip(":") if provider else name, holds[0] if holds else Holds.SESSION)


async def model(hub: Hub, session_id: str, argument: str) -> Effect:
    """With a name the model changes; without one, the person chooses it from a list."""
    wish = read_wish(argument)
    if not wish.name:
        return ModelsAsked(session_id, wish.holds)
    runtime = hub.runtime(session_id)
    await hub.profile.secrets.refresh()  # a key may have been saved in a shell just now
    return await switch_or_ask(hub, session_id, hub.models.resolve(wish.name, runtime.model.chosen), wish.holds)


async def switch_or_ask(hub: Hub, session_id: str, route: Route, holds: Holds = Holds.SESSION) -> Effect:
    """Let another model go on, unless the person should know something first, or a turn runs."""
    from agent.context.of_session import preflight_of  # a start need not pay for it, nor for what it is shown by

    runtime = hub.runtime(session_id)
    ahead = await preflight_of(runtime.s, route)
    if not (ahead.is_worth_asking or runtime.is_busy):
        return await switch(hub, session_id, route, holds)
    from agent.commands.context_report import switch_report

    return SwitchAsked(session_id, route, switch_report(runtime.s.route, ahead), holds, is_busy=runtime.is_busy)


async def switch(
    hub: Hub, session_id: str, route: Route, holds: Holds = Holds.SESSION, decision: Decision = Decision.SWITCH
) -> Said:
    """Let another model go on: now, or when the turn that runs has ended. Raises UserError, and nothing is changed then."""
    runtime, is_once = hub.runtime(session_id), holds is Holds.ONCE
    remark = await hub.models.set_default(route) if holds is Holds.GLOBAL else ""
    hub.models.is_demo_wanted |= route.api_mode is ApiMode.DEMO
    if not runtime.s.is_stored:
        runtime.s.opening_notice = ""  # it says what would have answered if nobody had chosen
    if not runtime.is_busy:
        await runtime.model.switch(route, is_once=is_once)
        return _said(f"{_when(route, holds)}.", remark)
    runtime.model.switch_later(route, is_once=is_once)
    if decision is Decision.INTERRUPT and runtime.interrupt():
        return _said(f"The turn is interrupted. {_when(route, holds)}.", remark)
    turns = " for one turn" if is_once else ""
    return _said(f"When what runs here has ended, {_named(route)} takes over{turns}.", remark)


def models(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    """What the last word of the argument could become: an option, a name of the person's own, a model at hand."""
    before, _, word = written.rpartition(" ")
    lead = f"{before} " if before else ""
    options = [
        Suggestion(f"{lead}--session", "holds in this session, also when it is opened again"),
        Suggestion(f"{lead}--once", "holds for the next turn"),
        Suggestion(f"{lead}--global", "holds here and in every new session"),
    ]
    if word.startswith(tuple(_DASHES)):
        return beginning(options, f"{lead}{word}")
    known = [
        Suggestion(f"{lead}{name}", about, is_whole=False)
        for name, about in hub.models.names(hub.runtime(session_id).s.route)
    ]
    return beginning(known, f"{lead}{word}")


def _when(route: Route, holds: Holds) -> str:
    named = _named(route)
    match holds:
        case Holds.SESSION:
            return f"This session now talks to {named}"
        case Holds.ONCE:
            return f"The next turn talks to {named}, and then it is as before"
        case Holds.GLOBAL:
            return f"This session and every new one now talk to {named}"


def _named(route: Route) -> str:
    return "the built-in demo" if route.api_mode is ApiMode.DEMO else f"{route.model} at {route.provider}"


def _said(text: str, remark: str) -> Said:
    return Said(f"{text} {remark}", Level.WARNING) if remark else Said(text)
