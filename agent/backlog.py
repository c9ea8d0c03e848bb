"""The writes of one session, in order: into the file, or into memory until the file takes them (E08)."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from session.connection import Patience
from session.db import SessionDB
from session.errors import BusyDatabase, FailedWrite, SessionDeleted, UserError, VanishedDatabase
from session.lease import Claim
from session.memory_store import MemoryStore
from session.models import Level, Message, Session
from session.tables import Tables

T = TypeVar("T")

log = logging.getLogger(__name__)

RETRY_S = 2.0


class MovedOn(UserError):
    """What was said in memory does not follow any more on what stands in the store."""

    sentence = "Another hermes went on with this conversation meanwhile."


class Unstorable(UserError):
    """The session waits in memory for good."""

    sentence = "What was said last in this conversation can't be stored, and is lost when hermes ends. {reason}"


class Step(Struct, Generic[T], frozen=True):
    """A change that was made in memory and is to be made in the file. It must come to the same when it is done again."""

    change: Callable[[Tables], T]
    is_synced: bool


class Caught(Struct, frozen=True):
    """What is in the file now: the session, and its rows' ids by those they had in memory."""

    session: Session | None
    ids: dict[int, int]


class Backlog:
    """Carries out changes one after another. While the file refuses them they are made in memory, and all of them are
    made again in the file, in one transaction, as soon as it takes them.

    `say` hears what a person should know; `caught_up` that nothing waits any more.
    """

    def __init__(
        self,
        db: SessionDB,
        session_id: str,
        say: Callable[[Level, str], None],
        caught_up: Callable[[Caught], None],
    ) -> None:
        self._db = db
        self._session_id = session_id
        self._say = say
        self._caught_up = caught_up
        self._order = asyncio.Lock()
        self._tasks: set[asyncio.Task[object]] = set()
        self._steps: list[Step[object]] = []
        self._memory: MemoryStore | None = None
        self._ids: dict[int, int] = {}
        self._temporary_ids = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self.claim: Claim | None = None  # that of the turn that runs: its writes are refused once it was taken over
        self.trouble: UserError | None = None  # why the file takes nothing; None while it does
        self.said = 0  # messages that are in memory only

    @property
    def is_new(self) -> bool:
        """Whether the session itself is in memory only."""
        return self._memory is not None and self._memory.revision is None

    @property
    def is_idle(self) -> bool:
        """Whether all that was asked for is in the file."""
        return not self._tasks and self.trouble is None

    def id_now(self, message_id: int) -> int:
        """The id that a row has by now."""
        return self._ids.get(message_id, message_id)

    def put(self, change: Callable[[Tables], T], *, is_synced: bool = False) -> asyncio.Task[T]:
        """Ask for a change. It is carried out after all asked for before, whoever stops waiting for it.

        It may be carried out several times, so it must be made of what does not change. Raises what the change raises,
        and a refusal of the file only where the session can't be read either; LeaseLost in a turn that was taken over.
        """
        task = asyncio.create_task(self._in_order(Step(change, is_synced), self.claim))
        self._tasks.add(cast("asyncio.Task[object]", task))
        task.add_done_callback(lambda done: self._tasks.discard(cast("asyncio.Task[object]", done)))
        return task

    async def close(self) -> None:
        """Try a last time, if anything waits."""
        self._is_closed = True
        async with self._order:
            self._stop_timer()
            await self._try()

    # --- inside

    async def _in_order(self, step: Step[T], claim: Claim | None) -> T:
        async with self._order:
            if self._memory is not None:
                return await self._remember(self._memory, step)
            try:
                return await asyncio.wrap_future(
                    self._db.write(under(claim, step.change), patience=Patience.TRANSCRIPT, is_synced=step.is_synced)
                )
            except (FailedWrite, BusyDatabase) as error:
                return await self._go_on_in_memory(step, error)

    async def _go_on_in_memory(self, step: Step[T], error: FailedWrite | BusyDatabase) -> T:
        path, session_id, temporary_ids = self._db.path, self._session_id, self._temporary_ids
        try:
            memory = await asyncio.wrap_future(
                self._db.read(lambda tables: MemoryStore.of(tables, path, session_id, temporary_ids))
            )
        except UserError as unreadable:  # then memory would not know what it goes on with
            raise error from unreadable
        try:
            result = await self._remember(memory, step)
        except sqlite3.DatabaseError as other:  # it is not for want of room
            raise error from other
        self._memory, self.trouble = memory, error
        self._say(Level.WARNING, in_memory(error))
        self._set_timer()
        return result

    async def _remember(self, memory: MemoryStore, step: Step[T]) -> T:
        def run() -> tuple[T, int]:
            return memory.run(step.change), memory.said()

        result, self.said = await asyncio.to_thread(run)
        self._steps.append(cast("Step[object]", step))
        return result

    def _set_timer(self) -> None:
        if not self._is_closed:
            self._timer = asyncio.get_running_loop().call_later(RETRY_S, self._start_trying)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_trying(self) -> None:
        task = asyncio.create_task(self._try_in_order())
        self._tasks.add(cast("asyncio.Task[object]", task))
        task.add_done_callback(self._tried)

    def _tried(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(cast("asyncio.Task[object]", task))
        if not task.cancelled() and (error := task.exception()):
            log.error("what waits in session %s was not stored", self._session_id, exc_info=error)

    async def _try_in_order(self) -> None:
        async with self._order:
            await self._try()

    async def _try(self) -> None:
        """Make all that waits in the file, or none of it."""
        memory = self._memory
        if memory is None or isinstance(self.trouble, Unstorable):
            return
        steps, session_id = list(self._steps), self._session_id
        try:
            caught = await asyncio.wrap_future(
                self._db.write(
                    lambda tables: made_again(tables, session_id, steps, memory),
                    patience=Patience.HEARTBEAT,
                    is_synced=any(step.is_synced for step in steps),
                )
            )
        except (FailedWrite, BusyDatabase) as error:
            self.trouble = error
            self._set_timer()
        except SessionDeleted as error:
            self._leave_memory(memory)  # by a person's wish: there is nothing to keep
            self._say(Level.WARNING, str(error))
        except (UserError, sqlite3.IntegrityError) as error:
            self.trouble = Unstorable(reason=error)
            self._say(Level.ERROR, str(self.trouble))
        else:
            self._ids |= caught.ids
            self._leave_memory(memory)
            self._caught_up(caught)
            self._say(Level.INFO, f"{self._db.path} takes writes again: what was said meanwhile is stored.")

    def _leave_memory(self, memory: MemoryStore) -> None:
        self._temporary_ids = memory.temporary_ids()
        self._memory, self.trouble, self.said = None, None, 0
        self._steps.clear()
        memory.close()


def under(claim: Claim | None, change: Callable[[Tables], T]) -> Callable[[Tables], T]:
    """The change, unless another process took the turn over and the next beat has yet to tell."""

    def checked(tables: Tables) -> T:
        if claim is not None:
            tables.leases.refuse_lost(claim, time.time())
        return change(tables)

    return checked


def made_again(tables: Tables, session_id: str, steps: list[Step[object]], memory: MemoryStore) -> Caught:
    """Make the changes in the file that were made in memory. Raises MovedOn where they come to something else."""
    session = tables.sessions.get(session_id)
    if session is not None and session.revision != memory.revision:
        raise MovedOn
    for step in steps:
        step.change(tables)
    stored, remembered = tables.messages.after(session_id, memory.last_id), memory.new_rows()
    if list(map(without_id, stored)) != list(map(without_id, remembered)):
        raise MovedOn
    ids = {before.id: row.id for before, row in zip(remembered, stored, strict=True)}
    return Caught(tables.sessions.get(session_id), ids)


def without_id(row: Message) -> Message:
    return replace(row, id=0)


def in_memory(error: FailedWrite | BusyDatabase) -> str:
    """What a person should know, and can do."""
    values = error.values
    match error:
        case VanishedDatabase():
            why, remedy = f"{values['path']} was {values['what']}", "Put it back"
        case BusyDatabase():
            why, remedy = f"{values['path']} is kept locked by another program", "Close that program"
        case _:
            why, remedy = f"{values['path']} takes no writes ({values['reason']})", "Free some space or check the disk"
    return (
        f"{why}, so this conversation goes on in memory. {remedy}, and it is stored by itself; "
        "what is not stored when hermes ends is lost."
    )
