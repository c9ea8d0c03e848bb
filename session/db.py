"""The store of one profile: one writer thread, two readers, and nothing that blocks whoever asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from session.connection import PATIENCE_S, Connection, is_busy
from session.errors import BusyDatabase, ClosedDatabase, FailedWrite, UnusableDatabase, UserError
from session.journal import open_writer
from session.ownership import claim
from session.tables import Tables

T = TypeVar("T")

READERS = 2
READ_PATIENCE_S = 5.0


class SessionDB:
    """An open store. `note` says what a person should know of it, "" when there is nothing.

    A write that was answered survives the death of the process, however it comes. A power cut or a crash of the
    operating system can cost the last answered writes, as the log is synced to disk only when it is folded into the
    file; it never damages the file. Without WAL every write is synced and such a cut costs nothing that was answered.
    """

    def __init__(self, path: Path, writer: Connection, readers: list[Connection], note: str) -> None:
        self.path = path
        self.note = note
        self._writer = writer
        self._readers = readers
        self._idle_readers: SimpleQueue[Connection] = SimpleQueue()
        for reader in readers:
            self._idle_readers.put(reader)
        self._writing = ThreadPoolExecutor(1, "store-writer")
        self._reading = ThreadPoolExecutor(len(readers), "store-reader")

    @classmethod
    def open(cls, path: Path) -> SessionDB:
        """Open a store, or make one where nothing or an empty file is. Blocks; for the start or for a thread.

        Raises ForeignDatabase, NotADatabase, NewerDatabase, UnusableDatabase or BusyDatabase.
        """
        claim(path)
        with ExitStack() as opened:
            try:
                writer, note = open_writer(path)
                opened.callback(writer.close)
                writer.run("PRAGMA foreign_keys = ON")
                readers = [open_reader(path) for _ in range(READERS)]
            except sqlite3.DatabaseError as error:
                raise refusal(path, error) from error
            opened.pop_all()
        return cls(path, writer, readers, note)

    def write(self, fn: Callable[[Tables], T]) -> Future[T]:
        """Run `fn` in one transaction on the writer thread, after all writes asked for before.

        The future resolves after the commit; what `fn` raises undoes its writes and comes out of the future, as do
        BusyDatabase and FailedWrite. Raises ClosedDatabase.
        """
        return lasting(self._submit(self._writing, lambda: self._transact(fn)))

    def read(self, fn: Callable[[Tables], T]) -> Future[T]:
        """Run `fn` over one unchanging view of the store, beside any write. Raises ClosedDatabase."""
        return self._submit(self._reading, lambda: self._view(fn))

    def close(self) -> None:
        """Finish what was asked for, then let go of the file; a second time does nothing. Blocks."""
        self._reading.shutdown()
        self._writing.shutdown()
        for connection in (*self._readers, self._writer):
            connection.close()

    def _submit(self, executor: ThreadPoolExecutor, job: Callable[[], T]) -> Future[T]:
        try:
            return executor.submit(job)
        except RuntimeError as error:  # the executor's word for "shut down"
            raise ClosedDatabase(path=self.path) from error

    def _transact(self, fn: Callable[[Tables], T]) -> T:
        try:
            with self._writer.transaction():
                return fn(Tables(self._writer))
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # a mistake in `fn`, not something that befell the file
        except sqlite3.DatabaseError as error:
            raise refusal(self.path, error, FailedWrite) from error

    def _view(self, fn: Callable[[Tables], T]) -> T:
        reader = self._idle_readers.get()
        try:
            with reader.snapshot():
                return fn(Tables(reader))
        except sqlite3.ProgrammingError:
            raise  # a mistake in `fn`, not something that befell the file
        except sqlite3.DatabaseError as error:
            raise refusal(self.path, error) from error
        finally:
            self._idle_readers.put(reader)


def refusal(path: Path, error: sqlite3.DatabaseError, kind: type[UserError] = UnusableDatabase) -> UserError:
    """What SQLite refused, as a sentence: another process in the way, or `kind`."""
    if is_busy(error):
        return BusyDatabase(path=path, waited_s=PATIENCE_S)
    return kind(path=path, reason=error)


def open_reader(path: Path) -> Connection:
    # Not "mode=ro": such a connection cannot tidy up after a process that was killed.
    reader = Connection.to(path, busy_timeout_s=READ_PATIENCE_S)
    reader.run("PRAGMA query_only = ON")
    return reader


def lasting(future: Future[T]) -> Future[T]:
    """The same result in a future that cannot be cancelled: a write that was accepted is carried out.

    Else a cancelled turn would take back, by cancelling its await, the row that it was about to rely on.
    """
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()

    def pass_on(done: Future[T]) -> None:
        error = done.exception()
        if error is None:
            result.set_result(done.result())
        else:
            result.set_exception(error)

    future.add_done_callback(pass_on)
    return result
