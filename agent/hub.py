"""All open sessions of a profile, and everything a listener may do to one: submit, interrupt, answer, switch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from agent.approvals.inbox import Answer
from agent.context.meter import ContextFigure
from agent.events import TurnEnded, TurnEvent
from agent.listener import Listener
from agent.open_session import OpenSession, Parts
from agent.profile import Profile
from agent.providers.local import LocalServer, check_model, probe_local
from agent.route import Choice, resolve
from agent.runtime import Live, Runtime
from agent.workspace import find_workspace
from session.errors import UserError
from session.models import ApiMode, ApprovalRequest, EndReason, Route, Session, TitleSource
from session.sessions import new_session_id
from session.tables import Tables

T = TypeVar("T")


class NoSuchSession(UserError):
    """No session has this id."""

    sentence = "There is no session {session_id}. `hermes sessions list` shows those there are."


class SessionLine(Struct, frozen=True):
    """A session as a list shows it. `is_unread`: something ended here that nobody has looked at."""

    session: Session
    state: Live
    is_unread: bool
    asking: int  # requests that wait for an answer


class Hub:
    """The one door between listeners and the sessions of a profile. Lives on the app's asyncio loop."""

    def __init__(
        self,
        profile: Profile,
        parts: Parts,
        choice: Choice,
        source: str,
        is_confirmed: bool,
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self.profile = profile
        self.choice = choice  # what a new session talks to, and why
        self._parts = parts
        self._source = source
        self._is_confirmed = is_confirmed
        self._release = release  # closes connections and ends what calls left running
        self._runtimes: dict[str, Runtime] = {}
        self._listeners: list[tuple[str | None, Listener]] = []
        self._unread: set[str] = set()
        self._local: Sequence[LocalServer] = ()
        self._opening = asyncio.Lock()  # a session has one runtime, however often it is asked for

    # --- sessions

    async def open(self, session_id: str) -> Runtime:
        """Open a stored session, settled if a process died in it. Raises NoSuchSession."""
        async with self._opening:
            if session_id not in self._runtimes:
                await self._load(session_id)
            return self._runtimes[session_id]

    async def _load(self, session_id: str) -> None:
        stored = await self._read(lambda tables: tables.sessions.get(session_id))
        if stored is None:
            raise NoSuchSession(session_id=session_id)
        rows = await self._read(lambda tables: tables.messages.all(session_id))
        runtime = self._add(OpenSession(self._parts, stored, stored.route or self.choice.route, rows))
        try:
            await runtime.recover()
        except BaseException:
            del self._runtimes[session_id]  # not settled, or not to the end: the next opening tries again
            raise

    def create(self, cwd: Path, route: Route | None = None) -> Runtime:
        """A new session. It is stored with its first prompt, so that an unused one leaves no trace."""
        now = time.time()
        session = Session(
            id=new_session_id(now),
            source=self._source,
            title="New session",
            title_source=TitleSource.DERIVED,
            cwd=str(cwd),
            workspace=str(find_workspace(cwd)),
            created_at=now,
            last_activity_at=now,
            route=route or self.choice.route,
        )
        notice = "" if route else self.greeting
        s = OpenSession(self._parts, session, route or self.choice.route, [], is_stored=False, opening_notice=notice)
        return self._add(s)

    @property
    def greeting(self) -> str:
        """What answers in a new session, why, and how to change it."""
        said = (self.choice.problem, self.choice.why, self.choice.how_to_change)
        return " ".join(part for part in said if part)

    async def latest(self, workspace: Path) -> str | None:
        """The session last worked in, in this workspace if there is one, else anywhere."""

        def find(tables: Tables) -> Session | None:
            return tables.sessions.latest(str(workspace)) or tables.sessions.latest(None)

        found = await self._read(find)
        return found.id if found else None

    async def listing(self, limit: int = 50) -> list[SessionLine]:
        """The sessions last worked in, newest first."""
        stored = await self._read(lambda tables: tables.sessions.listing(limit))
        return [self._line(session) for session in stored]

    async def end(self, session_id: str, reason: EndReason) -> None:
        """Close a session for good, by the person's own command; a turn in it is stopped first."""
        runtime = self._runtimes.pop(session_id, None)
        if runtime is not None:
            await runtime.close("the session was ended")
        now = time.time()
        await asyncio.wrap_future(self._parts.db.write(lambda tables: tables.sessions.end(session_id, reason, now)))

    def runtime(self, session_id: str) -> Runtime:
        """An open session. Raises NoSuchSession."""
        if session_id not in self._runtimes:
            raise NoSuchSession(session_id=session_id)
        return self._runtimes[session_id]

    # --- what a person can do

    def submit(self, session_id: str, text: str) -> None:
        """Send text in the session that was shown at Enter; it waits in line while a turn runs there."""
        self.runtime(session_id).submit(text)

    def interrupt(self, session_id: str) -> bool:
        """Stop the session's turn. False when none runs."""
        return self.runtime(session_id).interrupt()

    def answer(self, request_id: str, answer: Answer) -> bool:
        """Settle a request. False when it was settled before: nothing changes."""
        return self._parts.inbox.answer(request_id, answer)

    def pending(self, session_id: str | None = None) -> list[ApprovalRequest]:
        """Requests that wait for a person, oldest first."""
        return self._parts.inbox.pending(session_id)

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs in any session."""
        return any(runtime.is_busy for runtime in self._runtimes.values())

    def mark_read(self, session_id: str) -> None:
        self._unread.discard(session_id)

    def resolve(self, name: str, current: Route) -> Route:
        """The route that `provider:model`, a provider or a model of the current provider stands for. Raises UserError."""
        return resolve(name, self.profile.settings, self.profile.secrets, current, self._local)

    def needs_confirmation(self, session_id: str) -> str:
        """Why the first prompt on this route must be confirmed, "" when it need not be.

        A paid provider that was chosen only because its key lay in the environment is never used unasked.
        """
        route = self.runtime(session_id).s.route
        if not self.choice.is_paid_guess or self._is_confirmed or route != self.choice.route:
            return ""
        return f"{self.choice.why} Sending this prompt to {route.model} at {route.provider} may cost money. Use it from now on?"

    async def confirm(self) -> None:
        """Remember that the person wants the provider that was found in the environment."""
        self._is_confirmed = True
        name = self.choice.route.provider
        await asyncio.wrap_future(self._parts.db.write(lambda tables: tables.state.put(f"confirmed:{name}", "yes")))

    @property
    def remarks(self) -> list[str]:
        """What is wrong in the files of the home, or not in force, a sentence each; everything else in them holds."""
        others = (self.profile.db.note, self.profile.ignored)
        return [*(problem.sentence for problem in self.profile.problems), *filter(None, others)]

    async def look_around(self) -> list[str]:
        """After the first frame: what a person should know about the choice of a model, a sentence each.

        A server on this machine is offered, not taken; a model that its provider no longer lists is told.
        """
        route = self.choice.route
        if route.api_mode is not ApiMode.DEMO:
            key = self.profile.secrets.get(route.key_ref) if route.key_ref else None
            missing = await check_model(route, key) if self.choice.is_paid_guess else None
            return [missing] if missing else []
        if not self.profile.settings.probe_local:
            return []
        self._local = await probe_local()
        return [
            f"{server.label} answers on this machine. To use it: /model {server.name}:{server.first_model.id}"
            for server in self._local
            if server.first_model is not None
        ]

    # --- what a listener can know

    def line(self, session_id: str) -> SessionLine:
        """An open session as a list shows it, now."""
        return self._line(self.runtime(session_id).s.session)

    def context(self, session_id: str) -> ContextFigure:
        return self.runtime(session_id).s.context()

    def listen(self, session_id: str | None = None) -> Listener:
        """Events of one session, or of all, from now on."""
        listener = Listener()
        self._listeners.append((session_id, listener))
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners = [(wanted, other) for wanted, other in self._listeners if other is not listener]

    async def close(self, cause: str) -> None:
        """Stop every turn and settle it. The sessions stay open in the store: leaving never ends a conversation."""
        try:
            await asyncio.gather(*(runtime.close(cause) for runtime in self._runtimes.values()))
        finally:
            await self._release()

    # --- inside

    def _add(self, s: OpenSession) -> Runtime:
        runtime = Runtime(s, self.profile.home.locks, self._publish)
        self._runtimes[s.id] = runtime
        return runtime

    def _line(self, session: Session) -> SessionLine:
        runtime = self._runtimes.get(session.id)
        state = runtime.state if runtime else Live.IDLE
        return SessionLine(session, state, session.id in self._unread, len(self.pending(session.id)))

    async def _read(self, look: Callable[[Tables], T]) -> T:
        return await asyncio.wrap_future(self._parts.db.read(look))

    def _publish(self, event: TurnEvent) -> None:
        if isinstance(event, TurnEnded):
            self._unread.add(event.at.session)
        for wanted, listener in self._listeners:
            if wanted in (None, event.at.session):
                listener.put(event)
