"""The file checkpoints of one session, as the runtime and /rewind use them. Nothing here waits on the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from agent.checkpoints.limits import LIMITS, Limits
from agent.checkpoints.pace import Cancelled, Pace
from agent.checkpoints.plan import RestorePlan
from agent.checkpoints.recorder import Recorder
from agent.checkpoints.restore import Noted, Restored, carry_out, left_of, note, plan_of_undo, plan_since
from agent.checkpoints.steps import Newer
from agent.config.home import Home
from agent.session_files import is_plain_name
from session.errors import UserError

log = logging.getLogger(__name__)

T = TypeVar("T")

LATER_COPY_S = 1.0  # that each further call waits for what the first one did not wait for
_NEWER = "a newer hermes recorded the checkpoints of this session; update hermes"


class NoCheckpoint(UserError):
    """What stands in the workspace could not be recorded."""

    sentence = "No checkpoint of the files was made: {why}. A rewind can't put back what this call changes."


class CannotRestore(UserError):
    """A plan could not be made or carried out at all."""

    sentence = "No file was restored: {why}."


class Checkpoints:
    """Records what calls of a session do to files, and takes it back.

    They belong to the session: a workspace that was moved is restored where it is now. One thread does all the work, in
    the order in which it was asked for. `environ` is what the session's commands get, for the person's ignore rules.
    """

    def __init__(
        self,
        home: Home,
        session_id: str,
        root: Path,
        environ: Mapping[str, str] | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._recorder = Recorder(home, session_id, root, environ or {}, limits)
        self._is_usable = is_plain_name(session_id)
        self._copy_s, self._has_begun = limits.copy_s, False
        self._thread = ThreadPoolExecutor(1, "checkpoints")
        self._first: Pace | None = None
        self._carrying: Pace | None = None
        self._is_closed = False

    def prepare(self) -> None:
        """Begin the first copy, while a person reads what is asked. The first `before` waits for it."""
        if self._first is None and self._is_usable:
            self._first = Pace()
            self._thread.submit(self._prepare, self._first)

    def _prepare(self, pace: Pace) -> None:
        try:
            self._recorder.open(pace)
            self._recorder.prepare(pace)
        except (OSError, Newer) as error:
            log.warning("the first copy of the workspace was not made: %s", _reason(error))
        except Cancelled:
            log.info("the first copy of the workspace was stopped")

    async def before(self, call_id: str, writes: Iterable[Path] | None = None) -> None:
        """Record what is there before a call that writes these files, or any where None. Raises NoCheckpoint.

        The paths are absolute and free of links. A first copy is given so long; what is not copied then is not covered.
        `after` is called whatever comes of it, also where this was cancelled.
        """
        pace = Pace()
        for one in (pace, self._first or pace):
            one.hurry(LATER_COPY_S if self._has_begun else self._copy_s)
        self._has_begun = True
        await self._record(lambda: self._recorder.begin(call_id, writes, pace), pace)

    async def after(self, call_id: str) -> None:
        """Record what a call did, however it ended. Raises NoCheckpoint."""
        pace = Pace()
        pace.hurry(0)
        await self._record(lambda: self._recorder.end(call_id, pace), pace)

    async def written(self) -> frozenset[Path]:
        """What calls of the session changed, whichever process they ran in; nothing where that can't be read."""
        if not self._recorder.is_open:  # else nothing is waited for: a first copy may have the thread
            try:
                await self._run(lambda: None, Pace())
            except (OSError, Newer) as error:
                log.warning("what the session wrote is not known: %s", _reason(error))
        return self._recorder.written

    async def changes_since(self, calls: Iterable[str]) -> RestorePlan:
        """What would have to be restored to go back to before the first of these calls. Raises CannotRestore."""
        pace, wanted = Pace(), tuple(calls)
        return await self._restoring(lambda: plan_since(self._recorder, wanted, pace), pace)

    async def restore(self, plan: RestorePlan, also: Collection[str] = ()) -> Restored:
        """Carry a plan out; of its conflicts only the paths in `also`. Raises CannotRestore.

        Each file is checked again, and left where it is not what the plan says. Cancelled in the middle, it can be undone
        or gone on with by a new plan, as after a kill.
        """
        return await self.carry_out(await self.note(plan, also))

    async def note(self, plan: RestorePlan, also: Collection[str] = (), rewind: int = 0) -> Noted:
        """Record a restore, as part of a rewind, and change nothing yet. Raises CannotRestore."""
        return await self._restoring(lambda: note(self._recorder, plan, also, rewind), Pace())

    async def note_undo(self, rewind: int) -> Noted:
        """Record the way back from the restore of a rewind, as far as all is still as that left it. Raises CannotRestore."""
        pace = Pace()
        return await self._restoring(lambda: self._note_undo(rewind, pace), pace)

    async def carry_out(self, noted: Noted) -> Restored:
        """Do what was recorded, until `stop`. Each file is checked again. Raises CannotRestore."""
        pace = self._carrying = Pace()
        try:
            return await self._restoring(lambda: carry_out(self._recorder, noted, pace), Pace())
        finally:
            pace.stop()  # for a thread that nobody waits for any more
            self._carrying = None

    @property
    def progress(self) -> tuple[int, int] | None:
        """How far the restore that is carried out is, and of how much; None where none is."""
        return None if self._carrying is None else (self._carrying.done, self._carrying.total)

    def stop(self) -> None:
        """Let the restore that is carried out end before its next file. What is done stays, and can be undone."""
        if self._carrying is not None:
            self._carrying.stop()

    async def left_of(self, number: int) -> Noted:
        """What a kill left to do of a restore. Raises CannotRestore."""
        pace = Pace()
        return await self._restoring(lambda: left_of(self._recorder, number, pace), pace)

    async def standing_rewind(self, most: int) -> int:
        """The latest rewind, of so many, whose files were not brought back since, 0 for none. Raises CannotRestore."""
        return await self._restoring(lambda: self._recorder.standing_rewind(most), Pace())

    async def undo(self, restored: Restored) -> Restored:
        """Bring back what a restore took, as far as it is still as that left it. Raises CannotRestore."""
        pace = Pace()
        return await self._restoring(lambda: self._undo(restored.number, pace), pace)

    async def last_restored(self) -> Restored | None:
        """The last restore, also one that was killed, to be undone. Raises CannotRestore."""
        number = await self._restoring(lambda: self._recorder.last_restore, Pace())
        return None if number is None else Restored(number)

    async def close(self) -> None:
        """Stop a copy that nobody waits for, and let the session go."""
        if self._first is not None:
            self._first.stop()
        if not self._is_closed:
            self._is_closed = True
            letting_go = asyncio.get_running_loop().run_in_executor(self._thread, self._recorder.close)
            self._thread.shutdown(wait=False)
            await letting_go

    def _undo(self, number: int, pace: Pace) -> Restored:
        return carry_out(self._recorder, note(self._recorder, plan_of_undo(self._recorder, number, pace), ()), pace)

    def _note_undo(self, rewind: int, pace: Pace) -> Noted:
        number = self._recorder.restore_of(rewind)
        return note(self._recorder, plan_of_undo(self._recorder, number, pace), (), -rewind) if number else Noted()

    async def _record(self, work: Callable[[], None], pace: Pace) -> None:
        try:
            await self._run(work, pace)
        except (OSError, Newer) as error:
            raise NoCheckpoint(why=_reason(error)) from error

    async def _restoring(self, work: Callable[[], T], pace: Pace) -> T:
        def alone() -> T:
            if self._recorder.is_running:
                raise CannotRestore(why="a call of this session still runs; wait for it, or interrupt it")
            return work()

        try:
            return await self._run(alone, pace)
        except (OSError, Newer) as error:
            raise CannotRestore(why=_reason(error)) from error

    async def _run(self, work: Callable[[], T], pace: Pace) -> T:
        """In the thread, which sees at its next file when nobody waits any more."""
        if not self._is_usable:
            raise OSError(0, "the name of the session can't be one of a folder")

        def opened() -> T:
            pace.check()
            self._recorder.open(pace)
            return work()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, opened)
        except asyncio.CancelledError:
            pace.stop()
            raise


def _reason(error: OSError | Newer) -> str:
    if isinstance(error, Newer):
        return _NEWER
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"{(error.strerror or type(error).__name__).lower()}{where}"
