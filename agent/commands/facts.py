"""/status, /cwd, /tools, /todo and /reasoning: what holds in one session, and changing it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from agent.commands.report import Figures, Report
from agent.commands.suggestions import Suggestion, beginning
from agent.commands.table import Command, Effect, OnScreen, Page, Reported, Said, ScreenAsked, When
from agent.config.settings import Effort
from agent.hub import Hub
from agent.session_names import one_line
from session.models import ApiMode, Level

SHOWN = {
    "show": OnScreen.SHOW_THINKING,
    "open": OnScreen.SHOW_THINKING,
    "fold": OnScreen.FOLD_THINKING,
    "hide": OnScreen.HIDE_THINKING,
}
BY_SETTINGS = "default"


async def _status(hub: Hub, session_id: str, argument: str) -> Effect:
    from agent.context.words import used_text  # a start need not pay for it
    from agent.spending import read_spending, total

    runtime, now = hub.runtime(session_id), time.time()
    session, route = runtime.s.session, runtime.s.route
    used = total((await read_spending(runtime.s.parts, session_id)).session)
    coming = runtime.model.coming
    rows = [
        ("Session", session.id),
        ("Title", one_line(session)),
        ("Home", f"{hub.profile.home.shown} (profile {hub.profile.name})"),
        ("Folder", session.cwd),
        ("Model", route.model + (" (for one turn)" if runtime.model.is_once else "")),
        ("Takes over later", coming.route.model if coming is not None else ""),
        ("Provider", f"{route.provider} {route.base_url}".strip()),
        ("Limits", "; ".join(str(limit) for limit in runtime.s.parts.limits_of(route))),
        ("Thinking", runtime.s.options.effort),
        ("Tools off", ", ".join(sorted(runtime.s.options.tools_off))),
        ("Personality", session.personality),
        ("Mode", runtime.mode.value),
        ("Created", _at(session.created_at, now)),
        ("Last activity", _at(session.last_activity_at, now)),
        ("Context", used_text(hub.context(session_id))),
        ("Tokens read", f"{used.prompt:,}"),
        ("Tokens written", f"{used.output:,}"),
        ("Now", runtime.state.value),
        ("Queued", str(len(runtime.queue) or "")),
    ]
    return Reported(Report("Status", (Figures(("", ""), tuple(row for row in rows if row[1])),)))


def _at(at_s: float, now_s: float) -> str:
    from agent.context.words import ago

    return f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(at_s))} ({ago(max(0.0, now_s - at_s))})"


async def _cwd(hub: Hub, session_id: str, argument: str) -> Effect:
    runtime = hub.runtime(session_id)
    here = runtime.s.session.cwd
    if not argument:
        return Said(f"This session works in {here}. Another folder: /cwd FOLDER")
    place = await asyncio.to_thread(_folder, here, argument.strip('"'))
    if place is None:
        return Said(f"There is no folder {argument}. The session stays in {here}.", Level.WARNING)
    await runtime.move(place)
    return Said(f"This session works in {runtime.s.session.cwd} from now on.")


def _folder(here: str, written: str) -> Path | None:
    """A folder as it was written, seen from another one."""
    try:
        place = (Path(here) / Path(written).expanduser()).resolve()
        return place if place.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # nobody's home, a loop of links, no path at all
        return None


async def _tools(hub: Hub, session_id: str, argument: str) -> Effect:
    runtime = hub.runtime(session_id)
    known, options = runtime.s.parts.toolbox.tools, runtime.s.options
    verb, *names = argument.split() or [""]
    if not argument:
        rows = [
            f"| `{name}` | {'off' if name in options.tools_off else 'on'} | {_about(tool.DESCRIPTION)} |"
            for name, tool in known.items()
        ]
        note = "Off in this session: `/tools off NAME`; on again: `/tools on NAME`. It holds from the next request on."
        return Page("Tools", "\n".join(["| Tool | | |", "|---|---|---|", *rows, "", note]))
    unknown = [name for name in names if name not in known]
    if verb not in ("on", "off") or not names or unknown:
        said = f"There is no tool {unknown[0]}." if unknown else "Write /tools, /tools on NAME or /tools off NAME."
        return Said(f"{said} There are: {', '.join(known)}.", Level.WARNING)
    await runtime.set_options(options.turned(names, is_on=verb == "on"))
    return Said(f"{', '.join(names)}: {verb} in this session, from the next request on.")


def _about(description: str) -> str:
    return description.partition(". ")[0].replace("|", r"\|").rstrip(".")


async def _todo(hub: Hub, session_id: str, argument: str) -> Effect:
    from agent.tools.todo import todo_of

    found = todo_of(hub.runtime(session_id).s.rows)
    if not found:
        return Said("The model keeps no list of steps here, or all of it is done.")
    return Page("Steps", f"```text\n{found.replace('```', '` ` `')}\n```")


async def _reasoning(hub: Hub, session_id: str, argument: str) -> Effect:
    runtime, word = hub.runtime(session_id), argument.lower()
    levels = [level.value for level in Effort]
    if word in SHOWN:
        return ScreenAsked(SHOWN[word])
    if word in (*levels, BY_SETTINGS):
        effort = "" if word == BY_SETTINGS else word
        await runtime.set_options(replace(runtime.s.options, effort=effort))
        told = f"{word}, from the next request on" if effort else "as the settings say, or the model"
        demo = " The demo does not think." if runtime.s.route.api_mode is ApiMode.DEMO else ""
        return Said(f"Thinking in this session: {told}.{demo}")
    now = runtime.s.options.effort or "as the settings say, or the model"
    level = Level.WARNING if word else Level.INFO
    return Said(
        f"Thinking in this session: {now}. Levels: {', '.join((*levels, BY_SETTINGS))}; show, fold, hide.", level
    )


def _reasoning_words(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    levels = [Suggestion(level.value, "how much the model thinks here") for level in Effort]
    shown = [
        Suggestion(BY_SETTINGS, "as the settings say"),
        Suggestion("show", "all of it"),
        Suggestion("fold", "two lines of it"),
    ]
    return beginning([*levels, *shown, Suggestion("hide", "only that there is some")], written)


def _tool_words(hub: Hub, session_id: str, written: str) -> Sequence[Suggestion]:
    runtime = hub.runtime(session_id)
    words = [f"off {name}" for name in runtime.s.tools] + [f"on {name}" for name in sorted(runtime.s.options.tools_off)]
    return beginning([Suggestion(word) for word in words], written)


FACT_COMMANDS: tuple[Command, ...] = (
    Command("status", "", "tells what holds in this session: model, folder, context, tokens", When.ALWAYS, _status),
    Command("cwd", "[folder]", "tells or changes the folder that this session works in", When.IDLE, _cwd, ("cd",)),
    Command(
        "reasoning",
        "[level|show|fold|hide]",
        "tells or changes how much the model thinks here, and how much of it is shown",
        When.ALWAYS,
        _reasoning,
        complete=_reasoning_words,
    ),
    Command(
        "tools",
        "[on|off name]",
        "lists the tools, or turns some on or off in this session",
        When.ALWAYS,
        _tools,
        complete=_tool_words,
    ),
    Command("todo", "", "tells the steps that the model keeps of its task", When.ALWAYS, _todo),
)
