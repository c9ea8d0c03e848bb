"""The one thread that writes: all changes that wait are made in one transaction, and answered after its commit."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar, cast

from msgspec import Struct

from session.connection import PATIENCE_S, Connection, Patience, is_busy, pause_s
from session.errors import ClosedDatabase, VanishedDatabase
from session.group_commit import Batch, Change, GroupCommit, told
from session.journal import BUSY_TIMEOUT_S, Opened
from session.open_file import OpenFile
from session.search_index import SearchIndex
from session.tables import Tables

T = TypeVar("T")
log = logging.getLogger(__name__)

MOST_AT_ONCE = 64  # changes in a transaction: other processes wait for the whole of it
LOG_BYTES = 16_000_000  # a log above this is folded into the file even if readers must be waited for
FOLD_REST = 20  # times as long as an attempt that somebody hindered no other one is made
QUIET_S = 0.05  # after which the index follows
MOST_UNINDEXED = 256  # changes after which it does so even if there is no quiet


class Aside(Struct, Generic[T], eq=False):
    """A function to run between two transactions."""

    fn: Callable[[Connection], T]
    future: Future[T]


Job = Change[object] | Aside[object] | None  # None: nothing comes any more


class Writer:
    """Carries out changes in the order they were asked for. The connection is its own from now on."""

    def __init__(self, path: Path, opened: Opened) -> None:
        self._path = path
        self._connection = opened.connection
        self._commit = GroupCommit(path, opened.connection)
        self._file = OpenFile(path)
        self._is_wal = opened.is_wal
        self._is_synced = False
        self._index = SearchIndex(opened.connection)
        self._unindexed = 1  # changes since the index was last looked at; before the first look nobody knows
        self._folds_at = 0.0
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._gate = Lock()  # nothing is put behind the None that ends the jobs
        self._is_closed = False
        self._has_ended = False
        # A daemon: a process that cannot close the store, for whatever reason, must still be able to end.
        self._thread = Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    def change(self, fn: Callable[[Tables], T], patience: Patience, *, is_synced: bool) -> Future[T]:
        """Run `fn` in a transaction. Raises ClosedDatabase."""
        future: Future[T] = running()
        self._put(cast("Job", Change(fn, future, patience, is_synced)))
        return future

    def aside(self, fn: Callable[[Connection], T]) -> Future[T]:
        """Run `fn` between two transactions. Raises ClosedDatabase."""
        future: Future[T] = running()
        self._put(cast("Job", Aside(fn, future)))
        return future

    def close(self) -> None:
        """Carry out what was asked for, and let go of the file. Blocks; a second time does nothing."""
        with self._gate:
            if not self._is_closed:
                self._jobs.put(None)
            self._is_closed = True
        self._thread.join()
        self._connection.close()

    def _put(self, job: Job) -> None:
        with self._gate:
            if self._is_closed:
                raise ClosedDatabase(path=self._path)
            self._jobs.put(job)

    # --- on the thread

    def _work(self) -> None:
        while not self._has_ended:
            batch: Batch = []
            try:
                self._gather(batch)
                self._carry_out(batch)
                if self._unindexed >= MOST_UNINDEXED:
                    self._catch_up()
                self._bound_log()
            except BaseException as error:  # the end of memory, say: without this thread, all would wait for ever
                log.exception("the writer of %s met what nothing foresaw", self._path)
                for change in batch:
                    change.fail(self._path, error)
                    change.answer()
                with suppress(sqlite3.Error, MemoryError):  # then the next transaction begins with it
                    self._connection.undo()

    def _gather(self, batch: Batch) -> None:
        """Put the changes that wait into `batch`; none when something else came first."""
        try:
            self._take(batch, QUIET_S if self._unindexed else None)
        except Empty:
            self._catch_up()
        for _ in range(min(self._jobs.qsize(), MOST_AT_ONCE - 1)):
            self._take(batch)

    def _take(self, batch: Batch, timeout_s: float | None = None) -> None:
        """Put the next change into `batch`; what stands aside of transactions is done at once. Raises queue.Empty."""
        match self._jobs.get(timeout=timeout_s):
            case Change() as change:
                change.deadline = time.monotonic() + PATIENCE_S[change.patience]
                batch.append(change)
            case Aside() as aside:
                self._run_aside(aside)
            case None:
                self._has_ended = True

    def _run_aside(self, aside: Aside[object]) -> None:
        try:
            result = aside.fn(self._connection)
            self._connection.undo()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to whoever asked
            aside.future.set_exception(told(self._path, error, BUSY_TIMEOUT_S))
            self._connection.undo()
        else:
            aside.future.set_result(result)

    def _carry_out(self, batch: Batch) -> None:
        while batch:
            self._begin(batch)
            ran = self._commit.carry_out(batch) if batch else 0
            done = batch[:ran]
            del batch[:ran]
            for change in done:
                change.answer()
            self._unindexed += ran

    def _begin(self, batch: Batch) -> None:
        """Take the write lock. While another process has it, changes join `batch` and those whose patience ends leave
        it; the lock is not taken when none is left.
        """
        began = time.monotonic()
        while batch:
            try:
                self._connection.undo()  # nothing, unless what nothing foresaw left something open
                self._refuse_if_vanished()
                self._sync(any(change.is_synced for change in batch))
                self._connection.run("BEGIN IMMEDIATE")
                return
            except (sqlite3.DatabaseError, VanishedDatabase) as error:
                self._dismiss(batch, error)
            self._pause(batch, pause_s(time.monotonic() - began))

    def _refuse_if_vanished(self) -> None:
        what = self._file.what_happened()
        if what:
            raise VanishedDatabase(path=self._path, what=what)

    def _sync(self, is_synced: bool) -> None:
        """Choose whether the next commit reaches the disk before it is answered; without WAL every one does."""
        if self._is_wal and is_synced != self._is_synced:
            self._connection.run(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            self._is_synced = is_synced

    def _dismiss(self, batch: Batch, error: sqlite3.DatabaseError | VanishedDatabase) -> None:
        """Answer the changes whose time is over, or all of them where waiting does not help."""
        now = time.monotonic()
        dismissed = [change for change in batch if not is_busy(error) or change.deadline <= now]
        batch[:] = [change for change in batch if change not in dismissed]
        for change in dismissed:
            change.fail(self._path, error)
            change.answer()

    def _pause(self, batch: Batch, length_s: float) -> None:
        """Let time pass, yet for none in `batch` more than its own. What comes meanwhile joins it."""
        end = time.monotonic() + length_s
        while batch and (left_s := min(end, *(change.deadline for change in batch)) - time.monotonic()) > 0:
            try:
                self._take(batch, left_s)
            except Empty:
                return

    def _catch_up(self) -> None:
        """Bring the search index a step nearer to the rows: when nothing is asked for, or too much was meanwhile."""
        self._unindexed = 0
        try:
            self._refuse_if_vanished()
            if self._index.catch_up():
                self._unindexed = 1
        except (sqlite3.DatabaseError, VanishedDatabase) as error:  # the next change brings the next attempt
            if not is_busy(error):
                log.warning("the search index of %s could not be brought up to date: %s", self._path, error)

    def _bound_log(self) -> None:
        """Fold the log into the file when it has grown too long.

        SQLite does so after every thousand pages, yet never waits for readers: where somebody always reads, the log
        would never begin anew (mksglu/context-mode#560).
        """
        began = time.monotonic()
        if self._file.log_bytes < LOG_BYTES or began < self._folds_at:
            return
        is_folded = self._fold_log()
        now = time.monotonic()
        self._folds_at = now if is_folded else now + max(FOLD_REST * (now - began), 0.05)
        self._file.log_bytes = 0  # as long as nobody looked again

    def _fold_log(self) -> bool:
        try:
            return self._connection.value("PRAGMA wal_checkpoint(TRUNCATE)") == 0
        except sqlite3.DatabaseError as error:
            log.warning("the write-ahead log of %s could not be folded into it: %s", self._path, error)
            return False


def running() -> Future[T]:
    """A future that cannot be cancelled: a change that was accepted is carried out.

    Else a cancelled turn would take back, by cancelling its await, the row that it was about to rely on.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    return future
