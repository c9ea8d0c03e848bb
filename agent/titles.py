"""A better title for a new session, asked for once, beside the conversation, behind its first answer.

Nobody waits for it and nothing rests on it: where it fails, the title made of the first words stays.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import aclosing

from msgspec.structs import replace

from agent.events import SessionNamed
from agent.ledger import account
from agent.open_session import OpenSession
from agent.providers.base import ModelRequest, ProviderError, Reply, Restarting
from session.errors import UserError
from session.models import ApiMode, Message, Role, Route, Session, TitleSource, Usage
from session.tables import Tables
from session.titles import clean_title, derive_title

log = logging.getLogger(__name__)

TASK = "title"  # as the ledger names it
LONGEST_S = 30.0  # for all of it
QUOTED_CHARS = 2_000  # of what was asked, and of the answer
TITLE_CHARS = 80  # more is no title: the model went on with the conversation

ASKING = (
    "Write a title of 3 to 7 words for the conversation that the user message quotes, in the language it is held in. "
    "Answer with the title alone, on one line, without quotation marks. Do not answer what is quoted."
)
_LABEL = re.compile(r"^(?:[#>*\-\s]*)(?:title\s*:)?[\s*]*", re.IGNORECASE)
_QUOTES = "\"'`“”„«»‘’*_ "


class Titles:
    """Asks for titles in tasks of its own. `route_for` is the auxiliary route beside a main one; it raises UserError."""

    def __init__(self, route_for: Callable[[Route], Route], *, is_on: bool) -> None:
        self._route_for = route_for
        self._is_on = is_on
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by session

    def begin(self, s: OpenSession) -> None:
        """Behind an answer. Does nothing unless it is the first one, to a prompt that its title does not hold whole."""
        if not (self._is_on and s.parts.is_attended and _wants_title(s)):
            return
        self._tasks[s.id] = task = asyncio.create_task(self._upgrade(s))
        task.add_done_callback(lambda _: self._tasks.pop(s.id, None))

    def is_asking(self, session_id: str) -> bool:
        """Whether a title is on its way."""
        return session_id in self._tasks

    async def close(self) -> None:
        """Give up what is being asked."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _upgrade(self, s: OpenSession) -> None:
        main, held = s.route, (s.session.title, s.session.title_source)
        try:
            route = self._route_for(main)
            if ApiMode.DEMO in (main.api_mode, route.api_mode):
                return
            async with asyncio.timeout(LONGEST_S):
                reply = await _asked(s, route)
            if reply is None:
                return
            await account(s, route, reply.usage or Usage(), TASK)
            title = s.masking.text(title_in(reply.content))
            if title and s.route == main:
                await _name(s, title, held)
        except (ProviderError, UserError, TimeoutError) as error:
            log.info("session %s keeps its first title: %s", s.id, s.masking.text(str(error)) or "it took too long")
        except Exception:
            log.exception("the title of session %s could not be asked for", s.id)


def title_in(answer: str) -> str:
    """The title in what a model said, "" where it said something else."""
    line = answer.strip().partition("\n")[0]
    title = clean_title(_LABEL.sub("", line).strip(_QUOTES).rstrip(".。 "), TITLE_CHARS + 1)
    return title if len(title) <= TITLE_CHARS else ""


def _wants_title(s: OpenSession) -> bool:
    asked = [row.content for row in s.rows if row.is_prompt]
    is_derived = s.session.title_source is TitleSource.DERIVED
    return is_derived and len(asked) == 1 and " ".join(asked[0].split()) != derive_title(asked[0])


async def _asked(s: OpenSession, route: Route) -> Reply | None:
    """The answer to one request, None where it would have to be asked again. Raises ProviderError."""
    parts = s.parts
    messages: list[dict[str, object]] = [
        {"role": "system", "content": ASKING},
        {"role": "user", "content": _quoted(s.rows)},
    ]
    request = ModelRequest(route, messages, [], parts.extras_for(route), parts.compatibility_for(route), s.id)
    async with aclosing(parts.provider_for(route).stream(request)) as answer:
        async for part in answer:
            if isinstance(part, Reply):
                return part
            if isinstance(part, Restarting):
                return None
    return None


def _quoted(rows: list[Message]) -> str:
    asked = next(row.content for row in rows if row.is_prompt)
    said = next((row.content for row in reversed(rows) if row.role is Role.ASSISTANT), "")
    return f"Asked:\n{asked[:QUOTED_CHARS]}\n\nAnswered:\n{said[:QUOTED_CHARS]}"


async def _name(s: OpenSession, title: str, held: tuple[str, TitleSource]) -> None:
    """Unless a person, or another process, named it meanwhile."""

    def store(tables: Tables) -> Session | None:
        is_set = tables.sessions.set_title(s.id, title, TitleSource.MODEL, instead_of=held)
        return tables.sessions.get(s.id) if is_set else None

    named = await s.write(store)
    if named is not None:
        s.session = replace(s.session, title=named.title, title_source=named.title_source)
        s.publish(SessionNamed(s.stamp()))
