"""What a person does to the sessions of a profile, whether they are open here or only stored."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from agent.hub import Hub, NoSuchSession
from agent.masked_rows import masked_row, masked_session
from agent.runtime import Runtime
from agent.session_lines import SessionLine
from agent.session_names import linked_id, the_one
from agent.session_run import SessionBusy
from session.errors import EmptyTitle, UserError
from session.models import EndReason, Message, Session, TitleSource
from session.tables import Tables
from session.titles import clean_title

if TYPE_CHECKING:
    from session.search import Found  # a start need not pay for it

T = TypeVar("T")
Form = Literal["md", "jsonl"]

PAGE = 1_000  # sessions read at once: nothing else waits long for them
MOST_HITS = 50
MOST_NAMES = 1_000
NAME_CHARS = 48  # of a title in the name of a file
SIGNS = re.compile(r"[^\w.-]+")


class NothingStored(UserError):
    """A new session in which nothing was said is in no store yet."""

    sentence = "Nothing was said in this session yet, so there is nothing to {verb}."


class Goes(Struct, frozen=True):
    """What a deletion would remove. `ids` are the session and all that goes on with it."""

    session: Session
    ids: tuple[str, ...]
    messages: int


class Preview(Struct, frozen=True):
    """How a conversation began and where it stands."""

    session: Session
    prompt: Message | None
    answer: Message | None


async def find(hub: Hub, text: str) -> Session:
    """By an id, a title, the beginning of either, or an `@session:` link. Raises NoSuchSession or AmbiguousSession."""
    wanted = linked_id(text.strip())
    found = await _read(hub, lambda tables: tables.sessions.find(wanted) or tables.sessions.titled(wanted))
    return the_one([masked_session(hub.profile.secrets.masking, session) for session in found], wanted)


async def every_line(hub: Hub) -> list[SessionLine]:
    """All sessions of a list, however many there are."""
    lines = page = await hub.listing(PAGE)
    while newest_first := [line.session for line in page if not line.session.is_pinned]:
        last = newest_first[-1]
        page = await hub.listing(PAGE, (last.last_activity_at, last.id))
        lines = [*lines, *page]
    return list({line.session.id: line for line in lines}.values())


async def rename(hub: Hub, session_id: str, title: str) -> str:
    """The title as it now stands. Raises EmptyTitle or TitleTaken."""
    runtime, title = opened(hub, session_id), hub.profile.secrets.masking.text(title)
    if runtime is not None and not runtime.s.is_stored:
        return _name_unstored(runtime, title)
    await _write(hub, lambda tables: tables.sessions.set_title(session_id, title, TitleSource.PERSON))
    return (await _taken_over(hub, session_id)).title


async def turn_pin(hub: Hub, session_id: str) -> Session:
    """Keep a session on top of the list, or no longer; as it is then."""
    is_pinned = not (await stored(hub, session_id, "pin")).is_pinned
    await _write(hub, lambda tables: tables.sessions.set_pinned(session_id, is_pinned))
    return await _taken_over(hub, session_id)


async def turn_archived(hub: Hub, session_id: str) -> Session:
    """End a session and keep it out of the lists, or put it back; as it is then. Raises SessionBusy."""
    runtime = opened(hub, session_id)
    if runtime is not None and runtime.is_busy:
        raise SessionBusy
    if (await stored(hub, session_id, "archive")).is_archived:
        await _write(hub, lambda tables: tables.sessions.unarchive(session_id))
    else:
        await hub.end(session_id, EndReason.ARCHIVED)
    return await _taken_over(hub, session_id)


async def what_goes(hub: Hub, session_id: str) -> Goes:
    """What `delete` would remove; nothing is changed. Raises NoSuchSession or NothingStored."""
    from session.deletion import conversation

    session = await stored(hub, session_id, "delete")

    def look(tables: Tables) -> Goes:
        ids = tuple(conversation(tables.connection, session_id))
        return Goes(session, ids, sum(map(tables.messages.count, ids)))

    return await _read(hub, look)


async def delete(hub: Hub, goes: Goes) -> list[Path]:
    """Remove a session for good, with all that belongs to it; the folders that could not be removed.

    A turn that runs in it is stopped first.
    """
    from agent.session_files import remove_outputs

    for session_id in reversed(goes.ids):
        await hub.end(session_id, EndReason.DELETED)
    return await asyncio.to_thread(remove_outputs, hub.profile.home, goes.ids)


async def preview(hub: Hub, session_id: str) -> Preview:
    """Raises NoSuchSession or NothingStored."""
    session, masking = await stored(hub, session_id, "show"), hub.profile.secrets.masking
    prompt, answer = await _read(
        hub, lambda tables: (tables.messages.first_prompt(session_id), tables.messages.last_answer(session_id))
    )
    return Preview(session, prompt and masked_row(masking, prompt), answer and masked_row(masking, answer))


async def search(hub: Hub, query: str) -> Found:
    """All that was said, in any session of the profile; nothing that can be typed is an error."""
    redact = hub.profile.secrets.masking.text
    found = await _read(hub, lambda tables: tables.search.find(query, limit=MOST_HITS, redact=redact))
    return replace(found, hits=tuple(replace(hit, title=redact(hit.title)) for hit in found.hits))


async def export(hub: Hub, session_id: str, form: Form, place: str) -> Path:
    """Write a session into a new file: at `place`, or in its folder under a name made of its title.

    Markdown is masked, lines of JSON are exact. Raises ExportExists or UnwritableExport.
    """
    session, redact = await stored(hub, session_id, "export"), hub.profile.secrets.masking.text
    return await _read(hub, lambda tables: _written(tables, session, form, place, redact))


def _written(tables: Tables, session: Session, form: Form, place: str, redact: Callable[[str], str]) -> Path:
    from session.export import ExportExists, write_export

    given = Path(session.cwd, Path(place).expanduser())
    if place and not given.is_dir():
        write_export(given, _pieces(tables, session.id, form, redact))
        return given
    stem = SIGNS.sub("-", session.title)[:NAME_CHARS].strip("-.") or session.id
    for number in range(1, MOST_NAMES):
        path = given / f"{stem}{f'-{number}' if number > 1 else ''}.{form}"
        try:
            write_export(path, _pieces(tables, session.id, form, redact))
        except ExportExists:
            continue
        return path
    raise ExportExists(path=given / f"{stem}.{form}")


def _pieces(tables: Tables, session_id: str, form: Form, redact: Callable[[str], str]) -> Iterator[str]:
    from session.deletion import conversation
    from session.export import export_jsonl, export_markdown

    ids = conversation(tables.connection, session_id)
    if form == "jsonl":
        yield from export_jsonl(tables, ids)
        return
    for number, id_ in enumerate(ids):
        yield "\n" if number else ""
        yield from export_markdown(tables, id_, redact)


# --- what is known of a session


def opened(hub: Hub, session_id: str) -> Runtime | None:
    """The session where it is open here."""
    try:
        return hub.runtime(session_id)
    except NoSuchSession:
        return None


async def stored(hub: Hub, session_id: str, verb: str) -> Session:
    """The session as it stands in the store, for what `verb` says. Raises NoSuchSession or NothingStored."""
    runtime = opened(hub, session_id)
    if runtime is not None and not runtime.s.is_stored:
        raise NothingStored(verb=verb)
    session = await _read(hub, lambda tables: tables.sessions.get(session_id))
    if session is None:
        raise NoSuchSession(session_id=session_id)
    return masked_session(hub.profile.secrets.masking, session)


async def _taken_over(hub: Hub, session_id: str) -> Session:
    """The session as it stands now, also in what is open of it here."""
    session, runtime = await stored(hub, session_id, "change"), opened(hub, session_id)
    if runtime is not None:
        runtime.s.session = replace(
            runtime.s.session,
            title=session.title,
            title_source=session.title_source,
            is_pinned=session.is_pinned,
            is_archived=session.is_archived,
            ended_at=session.ended_at,
            end_reason=session.end_reason,
        )
    return session


def _name_unstored(runtime: Runtime, title: str) -> str:
    """It is stored under this title, or a numbered one, with its first prompt."""
    cleaned = clean_title(title)
    if not cleaned:
        raise EmptyTitle
    runtime.s.session = replace(runtime.s.session, title=cleaned, title_source=TitleSource.PERSON)
    return cleaned


async def _read(hub: Hub, look: Callable[[Tables], T]) -> T:
    return await asyncio.wrap_future(hub.profile.db.read(look))


async def _write(hub: Hub, change: Callable[[Tables], T]) -> T:
    return await asyncio.wrap_future(hub.profile.db.write(change))
