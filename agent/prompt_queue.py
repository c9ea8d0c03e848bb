"""What was typed behind a running turn. Each text is a row of the store before it stands here (E21)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TypeVar

from agent.open_session import OpenSession
from session.errors import UserError
from session.queued import Queued
from session.tables import Tables

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Waiting:
    """A text with the paths of its images, and the id of its row: 0 while it has none.

    `parts` are those of a prompt that brings them along, in memory alone.
    """

    text: str
    row_id: int = 0
    is_steer: bool = False  # it is told to the model that works, if that calls something yet
    images: tuple[str, ...] = ()
    parts: str = ""


class PromptQueue:
    """The texts of one session that are not sent yet. `changed` is called when one of them came in by itself.

    A secret is masked in the row alone: what is sent while this process lives is what was typed.
    """

    def __init__(self, s: OpenSession, changed: Callable[[], None], troubled: Callable[[UserError], None]) -> None:
        self._s = s
        self._changed = changed
        self._troubled = troubled
        self._waiting: deque[Waiting] = deque()
        self._early: list[Waiting] = []  # came before the session itself was stored
        self._saving: set[asyncio.Task[None]] = set()
        self._order = asyncio.Lock()  # of the rows: one change of it at a time
        self._moving = 0  # changes of the order that are not in the store yet: until then no row is the right one

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(waiting.text for waiting in self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def restore(self, rows: Iterable[Queued]) -> None:
        """What an earlier process, or a visit of another one, left unsent."""
        mask = self._s.masking.text
        self._waiting.extend(Waiting(mask(row.content), row.id, images=row.images) for row in rows)

    def add(self, waiting: Waiting) -> None:
        """Put a text at the end, once it is in the store."""
        if self._s.is_stored:
            self._start(self._add(waiting))
        else:
            self._early.append(waiting)

    def add_early(self) -> None:
        """The session was stored, or its first turn ended without that: what waited for it is put at the end."""
        early, self._early = self._early, []
        if early and self._s.is_stored:
            self._start(self._add(*early))
        else:
            self._waiting.extend(early)

    def put_back(self, waiting: Waiting) -> None:
        """A text that could not be sent is the first one again, also where the store takes nothing."""
        self._waiting.appendleft(waiting)
        if not waiting.row_id and self._s.is_stored:
            self._start(self._save_again(waiting, is_first=True))

    def save_all(self) -> None:
        """The store takes writes again: the texts that have no row get one, behind those that have one."""
        for waiting in self._waiting:
            if not waiting.row_id:
                self._start(self._save_again(waiting))

    @property
    def is_ready(self) -> bool:
        """Whether the first one can be sent now."""
        return bool(self._waiting) and not self._moving

    def next(self) -> Waiting:
        """Take the first one out. Its row stays until its prompt is stored in place of it."""
        return self._waiting.popleft()

    @property
    def steers(self) -> frozenset[int]:
        """Which of the texts are to be told to the model that works."""
        return frozenset(place for place, waiting in enumerate(self._waiting) if waiting.is_steer)

    def take_steers(self) -> list[tuple[str, int]]:
        """Take those out, each with its row, which stays until the text is told."""
        if self._moving:
            return []  # their rows are being changed; they are told behind the next result
        taken = [waiting for waiting in self._waiting if waiting.is_steer]
        self._waiting = deque(waiting for waiting in self._waiting if not waiting.is_steer)
        return [(waiting.text, waiting.row_id) for waiting in taken]

    def end_steers(self) -> None:
        """Nothing works any more that could be told: what is left of them are prompts like any others."""
        for waiting in (*self._waiting, *self._early):
            waiting.is_steer = False

    def take_back(self, index: int = -1) -> Waiting | None:
        """Take one out, for good: the newest where none is named."""
        if not -1 <= index < len(self._waiting) or not self._waiting:
            return None
        taken = self._waiting[index]
        del self._waiting[index]
        self._start(self._remove(taken.row_id))
        return taken

    def move(self, index: int, step: int) -> bool:
        """Let a text change places with one before it (-1) or behind it (1). False where there is none."""
        first, last = sorted((index, index + step))
        if first < 0 or last >= len(self._waiting):
            return False
        self._waiting[first], self._waiting[last] = self._waiting[last], self._waiting[first]
        self._moving += 1
        self._start(self._renew())
        return True

    def row_ids(self) -> frozenset[int]:
        """The rows of the texts that have one."""
        return frozenset(waiting.row_id for waiting in self._waiting if waiting.row_id)

    def let_go(self, gone: frozenset[int]) -> bool:
        """Let go of the texts of rows that another process sent or took back. Whether there were any."""
        if self._moving:
            return False  # the rows that are gone may be our own; it will be told again
        kept = [waiting for waiting in self._waiting if waiting.row_id not in gone]
        is_changed = len(kept) < len(self._waiting)
        self._waiting = deque(kept)
        return is_changed

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits, and nothing is on its way into the store or out of it."""
        return not (self._waiting or self._early or self._saving)

    async def settled(self) -> None:
        """Until nothing is on its way into the store any more."""
        self.add_early()
        if self._saving:
            await asyncio.wait(self._saving)

    # --- inside

    def _start(self, steps: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(steps)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _add(self, *added: Waiting) -> None:
        for waiting in added:
            async with self._order:
                waiting.row_id = await self._stored(waiting)
                self._waiting.append(waiting)
        self._changed()

    async def _save_again(self, waiting: Waiting, *, is_first: bool = False) -> None:
        row_id = await self._stored(waiting, is_first=is_first)
        if waiting in self._waiting:
            waiting.row_id = row_id
        else:  # it was sent or taken back meanwhile
            await self._remove(row_id)

    async def _renew(self) -> None:
        """Texts stand in the order of their rows: all get new ones, in one transaction."""
        try:
            async with self._order:
                await self._renewed([*self._waiting])
        except UserError as error:
            log.warning("the order of queued prompts of session %s was not kept: %s", self._s.id, error)
        finally:
            self._moving -= 1
        self._changed()

    async def _renewed(self, waiting: list[Waiting]) -> None:
        rows, now = [(one.row_id, self._s.masking.text(one.text), one.images) for one in waiting], time.time()
        ids = await self._write(lambda tables: tables.queued.renew(self._s.id, rows, now))
        for one, new in zip(waiting, ids, strict=True):
            if one not in self._waiting:  # taken back meanwhile
                await self._remove(new)
            elif one.row_id and not new:  # sent or taken back by another process
                self._waiting.remove(one)
            one.row_id = new

    async def _stored(self, waiting: Waiting, *, is_first: bool = False) -> int:
        """The id of the text's row; 0 where it can't have one, and then it waits in memory alone."""
        masked, images, now = self._s.masking.text(waiting.text), waiting.images, time.time()
        try:
            if self._s.backlog.trouble:  # perhaps the session itself is not in the store yet
                raise self._s.backlog.trouble
            return await self._write(
                lambda tables: tables.queued.add(self._s.id, masked, now, images=images, is_first=is_first)
            )
        except UserError as error:
            self._troubled(error)
            return 0

    async def _remove(self, row_id: int) -> None:
        """A row that stays, because nothing can be written, is shown as unsent at the next opening: no text is lost."""
        if not row_id:
            return
        try:
            await self._write(lambda tables: tables.queued.remove(row_id))
        except UserError as error:
            log.warning("a queued prompt of session %s was not removed: %s", self._s.id, error)

    async def _write(self, change: Callable[[Tables], T]) -> T:
        return await asyncio.wrap_future(self._s.parts.db.write(change))
