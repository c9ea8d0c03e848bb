"""All open sessions of a profile, and everything a listener may do to one: submit, interrupt, answer, switch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from agent.approvals.inbox import Answer
from agent.approvals.shell_verdict import Mode
from agent.context.meter import ContextFigure
from agent.elsewhere import Seen, known_of, look_at, masked_seen
from agent.events import TurnEnded, TurnEvent
from agent.listener import Listener
from agent.masked_rows import masked_session
from agent.model_choice import ModelChoice
from agent.open_session import OpenSession
from agent.opening import asked_nothing, read_session
from agent.parts import Parts
from agent.profile import Profile
from agent.prompt_of_session import invalidate_prompt
from agent.resting import is_at_rest
from agent.rewinding import Outcome, Preview, Scope, branch, finish, preview, rewind, undo
from agent.route import Choice
from agent.runtime import Runtime
from agent.seen_elsewhere import take_in
from agent.session_lines import Listed, SessionLine, line_of, listed, with_open
from agent.session_run import Live
from agent.unread import Unread
from agent.workspace import find_workspace
from session.errors import SessionDeleted, UserError
from session.models import ApiMode, ApprovalRequest, EndReason, Level, Route, Session, TitleSource
from session.sessions import new_session_id
from session.status import Status
from session.tables import Tables

T = TypeVar("T")


class NoSuchSession(UserError):
    """No session has this id."""

    sentence = "There is no session {session_id}. `hermes sessions list` shows those there are."


YOLO_ENDED = "This session was in yolo mode when hermes ended. It asks again now; /yolo turns it on again."
LISTED = 50  # sessions of a list


class Hub:
    """The one door between listeners and the sessions of a profile. Lives on the app's asyncio loop."""

    def __init__(
        self,
        profile: Profile,
        parts: Parts,
        choice: Choice,
        is_confirmed: bool,
        release: Callable[[], Awaitable[None]],
    ) -> None:
        self.profile = profile
        self._parts = parts
        self._models = ModelChoice(profile, parts, choice, is_confirmed=is_confirmed)
        self._release = release  # closes connections and ends what calls left running
        self._runtimes: dict[str, Runtime] = {}
        self._listeners: list[tuple[str | None, Listener]] = []
        self._unread = Unread(profile.db)
        self._left: dict[str, None] = {}  # open sessions that nobody looks at, in the order they were left
        self._opening = asyncio.Lock()  # a session has one runtime, however often it is asked for

    # --- sessions

    async def open(self, session_id: str) -> Runtime:
        """Open a stored session, settled if a process died in it. Raises NoSuchSession."""
        async with self._opening:
            self._left.pop(session_id, None)
            if session_id not in self._runtimes:
                await self._load(session_id)
            if self._runtimes[session_id].is_deleted:
                raise NoSuchSession(session_id=session_id)
            return self._runtimes[session_id]

    async def _load(self, session_id: str) -> None:
        s = await read_session(self._parts, session_id, self._models.route_of)
        if s is None:
            raise NoSuchSession(session_id=session_id)
        self._unread.opened(s.session)
        runtime, was_yolo = self._add(s), asked_nothing(s.session)
        try:
            if was_yolo:
                await runtime.set_mode(Mode.ASK)
            await runtime.recover()
            finished = await finish(runtime)
        except BaseException:
            del self._runtimes[session_id]  # not settled, or not to the end: the next opening tries again
            raise
        about_model = self._models.about(s.session)
        runtime.model.is_unwritten = bool(about_model)
        s.opening_notice = " ".join(filter(None, (finished, about_model, YOLO_ENDED if was_yolo else "")))
        if s.opening_notice:
            runtime.tell(Level.INFO, s.opening_notice)

    def create(self, cwd: Path, route: Route | None = None) -> Runtime:
        """A new session. It is stored with its first prompt, so that an unused one leaves no trace."""
        now = time.time()
        session = Session(
            id=new_session_id(now),
            source=self._parts.source,
            title="New session",
            title_source=TitleSource.DERIVED,
            cwd=str(cwd),
            workspace=str(find_workspace(cwd)),
            created_at=now,
            last_activity_at=now,
            route=route or self.choice.route,
            personality=self._parts.prompts.new_personality,
        )
        notice = "" if route else self.greeting
        s = OpenSession(self._parts, session, route or self.choice.route, [], is_stored=False, opening_notice=notice)
        return self._add(s)

    @property
    def models(self) -> ModelChoice:
        """The models there are to choose from, and the one of a new session."""
        return self._models

    @property
    def choice(self) -> Choice:
        """What a new session talks to, and why."""
        return self._models.chosen

    @property
    def greeting(self) -> str:
        """What answers in a new session, why, and how to change it."""
        return self._models.greeting

    async def latest(self, workspace: Path) -> str | None:
        """The session last worked in, in this workspace if there is one, else anywhere."""

        def find(tables: Tables) -> Session | None:
            return tables.sessions.latest(str(workspace)) or tables.sessions.latest(None)

        found = await self._read(find)
        return found.id if found else None

    async def listing(self, limit: int = LISTED, before: tuple[float, str] | None = None) -> list[SessionLine]:
        """The sessions last worked in, newest first, then those that are pinned; or the next page of them."""
        return self._lines(await self._read(lambda tables: listed(tables, limit, before)))

    async def end(self, session_id: str, reason: EndReason) -> None:
        """Close a session for good, by the person's own command; a turn in it is stopped first.

        Whoever shows it goes on showing it. What is sent in it opens it again, unless it was deleted.
        """
        runtime = self._runtimes.get(session_id)
        now = time.time()

        def end(tables: Tables) -> None:
            tables.sessions.end(session_id, reason, now)

        if runtime is None:
            await asyncio.wrap_future(self._parts.db.write(end))
            return
        await runtime.close("the session was ended")
        self._parts.grants.forget(session_id)
        if runtime.mode is Mode.YOLO:
            runtime.s.mode = Mode.ASK
        await runtime.s.write(end)
        if reason is EndReason.DELETED:
            runtime.lose(SessionDeleted(session_id=session_id))

    def leave_alone(self, session_id: str) -> None:
        """Nobody looks at a session any more. It is closed with the next one that is left, or later: when it is at rest.

        Not at once, because what happened in it last may be on its way to those who listen to all.
        """
        for id_ in [id_ for id_ in self._left if is_at_rest(self._runtimes[id_])]:
            del self._runtimes[id_], self._left[id_]
        self._left[session_id] = None

    def is_open(self, session_id: str) -> bool:
        return session_id in self._runtimes

    def runtime(self, session_id: str) -> Runtime:
        """An open session. Raises NoSuchSession."""
        if session_id not in self._runtimes:
            raise NoSuchSession(session_id=session_id)
        return self._runtimes[session_id]

    # --- what a person can do

    def submit(self, session_id: str, text: str, parts: str = "", images: Sequence[str] = ()) -> None:
        """Send text in the session that was shown at Enter; it waits in line while a turn runs there, with its images.

        With parts of its own it can't wait (agent/image_files.py makes them). Raises SessionBusy.
        """
        self.runtime(session_id).submit(text, parts, images)

    def interrupt(self, session_id: str) -> bool:
        """Stop the session's turn, or the files that are being changed back. False when none runs."""
        runtime = self.runtime(session_id)
        runtime.s.parts.history_for(runtime.s.session).stop()
        return runtime.interrupt()

    def compact(self, session_id: str, focus: str = "") -> None:
        """Make a conversation smaller now: a model summarises the most of it, with regard to `focus`.

        Events tell how it goes, from CompactionStarted to CompactionEnded; `interrupt` stops it, and what is submitted
        meanwhile waits in line. Raises SessionBusy.
        """
        self.runtime(session_id).compact(focus)

    async def undo_compaction(self, session_id: str) -> None:
        """Bring back what the latest compaction took out of the conversation, while nothing was answered since.

        Raises SessionBusy, BusyElsewhere, NoCompactionToUndo or AnsweredSinceCompaction.
        """
        await self.runtime(session_id).undo_compaction()

    async def rewind_preview(self, session_id: str, prompt_id: int) -> Preview:
        """What going back to before something the person said would come to, its files too; nothing is changed."""
        return await preview(self.runtime(session_id).s, prompt_id)

    async def rewind(self, session_id: str, seen: Preview, scope: Scope, also: Collection[str] = ()) -> Outcome:
        """Go back as the preview says, and of the conflicts among its files restore those in `also`."""
        return await rewind(self.runtime(session_id), seen, scope, also)

    async def undo_rewind(self, session_id: str) -> Outcome:
        """Bring back what the latest rewind that stands took away, its files too."""
        return await undo(self.runtime(session_id))

    async def branch(self, session_id: str, title: str = "", before_id: int = 0) -> str:
        """The id of a new session with all that was said in one, or was before a prompt; that one is left as it is."""
        return await branch(self.runtime(session_id), title, before_id)

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
        """A person looks at a session, to its end."""
        runtime = self._runtimes.get(session_id)
        self._unread.look_at(session_id, is_stored=runtime is not None and runtime.s.is_stored)

    async def take_up_key(self, session_id: str, name: str) -> bool:
        """A key was saved: what it makes possible takes the demo's place, for new sessions and for this one.

        False where it changes nothing in this session.
        """
        runtime = self.runtime(session_id)
        if not self._models.renew(name) or runtime.s.route.api_mode is not ApiMode.DEMO or runtime.is_busy:
            return False
        await runtime.switch(self.choice.route)
        if runtime.s.opening_notice:
            runtime.s.opening_notice = self.greeting
        return self.choice.route.api_mode is not ApiMode.DEMO

    def needs_confirmation(self, session_id: str) -> str:
        """Why the first prompt on this route must be confirmed, "" when it need not be.

        A paid provider that was chosen only because its key lay in the environment is never used unasked.
        """
        return self._models.needs_confirmation(self.runtime(session_id).s.route)

    @property
    def remarks(self) -> list[str]:
        """What is wrong in the files of the home, or not in force, a sentence each; everything else in them holds."""
        said = (*(problem.sentence for problem in self.profile.problems), self.profile.db.note)
        return [self.profile.secrets.mask(sentence) for sentence in said if sentence]

    @property
    def ignored(self) -> str:
        """What the folder brings that would act, and does not for want of trust; "" for nothing."""
        return self.profile.secrets.mask(self.profile.ignored)

    def invalidate_prompts(self, workspace: Path) -> None:
        """Have the system prompts of the sessions in a workspace made anew: what they are made of changed there."""
        for runtime in self._runtimes.values():
            if runtime.s.session.workspace == str(workspace):
                invalidate_prompt(runtime.s)

    async def look_around(self) -> list[str]:
        """After the first frame: what a person should know, a sentence each."""
        from agent.tools.leftovers import notice, settled_leftovers  # what the first frame need not pay for

        about_model, left = await asyncio.gather(self._models.look(), settled_leftovers(self.profile.home.running))
        said = notice(left, "/processes stop")
        return [*about_model, self.profile.secrets.mask(said)] if said else about_model

    # --- what other processes do

    async def data_version(self) -> int:
        """Another number than before where another process has changed something; nothing done here changes it."""
        return await asyncio.wrap_future(self._parts.db.data_version())

    async def catch_up(self) -> list[SessionLine]:
        """Take in what other processes did to the sessions that are open here; all lines of a list as they are now.

        New rows are announced like any others.
        """
        known = {
            runtime.id: (known_of(runtime.s), runtime.queued_ids)
            for runtime in self._runtimes.values()
            if runtime.s.is_stored and not (runtime.s.is_behind or runtime.is_deleted)
        }

        def look(tables: Tables) -> tuple[list[Listed], list[Seen]]:
            return listed(tables, LISTED), [look_at(tables, id_, *one) for id_, one in known.items()]

        newest, found = await self._read(look)
        for seen in found:
            self._take_in(masked_seen(self.profile.secrets.masking, seen))
        return with_open(self._lines(newest), [self.line(id_) for id_ in reversed(self._runtimes)], self._runtimes)

    def _take_in(self, seen: Seen) -> None:
        runtime = self._runtimes.get(seen.session_id)
        if runtime is None:
            return  # its opening failed meanwhile
        for event in take_in(runtime, seen):
            self._publish(event)

    # --- what a listener can know

    def line(self, session_id: str) -> SessionLine:
        """An open session as a list shows it, now."""
        return self._line(self.runtime(session_id).s.session)

    def context(self, session_id: str) -> ContextFigure:
        return self.runtime(session_id).s.context()

    @property
    def losses(self) -> list[str]:
        """What would be lost if hermes ended now, a sentence for each session."""
        return [runtime.s.loss for runtime in self._runtimes.values() if runtime.s.loss]

    def listen(self, session_id: str | None = None) -> Listener:
        """Events of one session, or of all, from now on."""
        listener = Listener()
        self._listeners.append((session_id, listener))
        self._left.pop(session_id or "", None)
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners = [(wanted, other) for wanted, other in self._listeners if other is not listener]

    async def close(self, cause: str) -> None:
        """Stop every turn and settle it. The sessions stay open in the store: leaving never ends a conversation.

        What waits for a full disk is tried a last time; then `losses` says what is lost.
        """
        runtimes = list(self._runtimes.values())
        try:
            await asyncio.gather(*(runtime.close(cause) for runtime in runtimes))
            await asyncio.gather(*(runtime.s.backlog.close() for runtime in runtimes))
        finally:
            await self._release()

    # --- inside

    def _add(self, s: OpenSession) -> Runtime:
        runtime = Runtime(s, self._publish)
        runtime.model.route_of = self._models.route_of
        self._runtimes[s.id] = runtime
        return runtime

    def _line(self, session: Session, standing: Status = Status.COMPLETE) -> SessionLine:
        runtime = self._runtimes.get(session.id)
        is_unread = self._unread.holds(session, is_open=runtime is not None)
        if runtime is None:
            return SessionLine(session, Live.IDLE, is_unread, 0, standing=standing)
        return line_of(runtime, is_unread, len(self.pending(session.id)))

    def _lines(self, stored: Sequence[Listed]) -> list[SessionLine]:
        masking = self.profile.secrets.masking
        return [self._line(masked_session(masking, one.session), one.standing) for one in stored]

    async def _read(self, look: Callable[[Tables], T]) -> T:
        return await asyncio.wrap_future(self._parts.db.read(look))

    def _publish(self, event: TurnEvent) -> None:
        if isinstance(event, TurnEnded):
            self._unread.add(event.at.session)
        for wanted, listener in self._listeners:
            if wanted in (None, event.at.session):
                listener.put(event)
