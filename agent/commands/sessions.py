"""/sessions, /resume, /title, /pin, /archive, /delete, /search and /export: what one does with sessions."""

from __future__ import annotations

from agent.commands.table import (
    Command,
    DeleteAsked,
    Effect,
    ListAsked,
    ListChanged,
    Opened,
    Said,
    SearchAsked,
    When,
)
from agent.hub import Hub
from agent.session_names import one_line
from agent.stored_sessions import Form, Goes, delete, export, find, opened, rename, turn_archived, turn_pin, what_goes
from session.models import Level

FORMS: dict[str, Form] = {"md": "md", "jsonl": "jsonl"}
MASKED = "Known secrets are masked in it."
EXACT = "It is exact: secrets that were said stand in it."


async def _sessions(hub: Hub, session_id: str, argument: str) -> Effect:
    return await _resume(hub, session_id, argument) if argument else ListAsked()


async def _resume(hub: Hub, session_id: str, argument: str) -> Effect:
    return Opened((await find(hub, argument)).id) if argument else ListAsked()


async def _title(hub: Hub, session_id: str, argument: str) -> Effect:
    if not argument:
        session = hub.runtime(session_id).s.session
        return Said(f"This session is called “{one_line(session)}”. Another name: /title TEXT")
    return await name_session(hub, session_id, argument)


async def name_session(hub: Hub, session_id: str, title: str) -> ListChanged:
    """Give any session another name. Raises EmptyTitle or TitleTaken."""
    return ListChanged(f"Renamed to “{await rename(hub, session_id, title)}”.")


async def _pin(hub: Hub, session_id: str, argument: str) -> Effect:
    session = await turn_pin(hub, session_id)
    done = "is pinned: it stands on top of the list" if session.is_pinned else "is not pinned any more"
    return ListChanged(f"“{one_line(session)}” {done}.")


async def _archive(hub: Hub, session_id: str, argument: str) -> Effect:
    session = await turn_archived(hub, session_id)
    if not session.is_archived:
        return ListChanged(f"“{one_line(session)}” is in the list again.")
    said = f"“{one_line(session)}” is archived; nothing of it is lost. To open it again: /resume {session_id}"
    return ListChanged(said, gone=session_id)


async def _delete(hub: Hub, session_id: str, argument: str) -> Effect:
    goes = await what_goes(hub, session_id)
    runtime = opened(hub, session_id)
    is_busy = runtime is not None and runtime.is_busy
    return DeleteAsked(goes, _told(goes, is_busy=is_busy))


def _told(goes: Goes, *, is_busy: bool) -> str:
    messages = f"{goes.messages:,} message{'' if goes.messages == 1 else 's'}"
    running = " What runs in it now is stopped." if is_busy else ""
    return (
        f"“{one_line(goes.session)}” goes for good: {messages}, what its commands put out, and "
        f"the states of files that were kept for it. Files of the project stay as they are.{running} "
        "This cannot be undone."
    )


async def delete_session(hub: Hub, goes: Goes) -> ListChanged:
    """What a yes to `DeleteAsked` comes to."""
    left = await delete(hub, goes)
    said = f"Deleted: {one_line(goes.session)}."
    if not left:
        return ListChanged(said, gone=goes.session.id)
    folders = ", ".join(map(str, left))
    return ListChanged(f"{said} These could not be removed: {folders}.", goes.session.id, Level.WARNING)


async def _search(hub: Hub, session_id: str, argument: str) -> Effect:
    return SearchAsked(argument)


async def _export(hub: Hub, session_id: str, argument: str) -> Effect:
    first, _, rest = argument.partition(" ")
    named = FORMS.get(first.lower())
    place = rest.strip() if named else argument
    by_name: Form = "jsonl" if place.endswith(".jsonl") else "md"
    form = named or by_name
    path = await export(hub, session_id, form, place)
    return Said(f"Written to {path}. {MASKED if form == 'md' else EXACT}")


SESSION_COMMANDS: tuple[Command, ...] = (
    Command(
        "sessions",
        "[title|id]",
        "goes to the list of sessions, or to one of them",
        When.ALWAYS,
        _sessions,
        aliases=("session", "switch"),
    ),
    Command("resume", "[title|id]", "opens a session by its title, its id or how they begin", When.ALWAYS, _resume),
    Command("title", "[text]", "tells or changes the name of this session", When.ALWAYS, _title, aliases=("rename",)),
    Command("search", "[text]", "searches all that was said, in every session", When.ALWAYS, _search),
    Command("pin", "", "keeps this session on top of the list; a second time, no longer", When.ALWAYS, _pin),
    Command("archive", "", "ends this session and takes it out of the list", When.ALWAYS, _archive),
    Command("delete", "", "removes this session for good, after a question", When.ALWAYS, _delete),
    Command(
        "export",
        "[md|jsonl] [file]",
        "writes this session into a file: to read, or exact",
        When.ALWAYS,
        _export,
        aliases=("save",),
    ),
)
