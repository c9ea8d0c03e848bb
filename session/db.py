"""The store of one profile: one writer thread, two readers, and nothing that blocks whoever asks."""

from __future__ import annotations

import atexit
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from session.connection import CACHE_KIB, PATIENCE_S, Connection, Patience, is_busy
from session.errors import BusyDatabase, ClosedDatabase, UserError
from session.journal import Opened, open_writer
from session.ownership import claim, unusable
from session.search_index import require_fts5
from session.tables import Tables
from session.writer import Writer

T = TypeVar("T")

READERS = 2
READ_PATIENCE_S = 5.0


class SessionDB:
    """An open store. `note` says what a person should know of it, "" when there is nothing.

    A write that was answered survives the death of the process, however it comes (SIGKILL, a crash, the end of memory):
    it stands in the file or its log by then, and the system keeps both. A power cut or a crash of the system can cost
    the last answered writes, back to the log's last sync, which comes with every thousand pages (4 MB) of it and with
    every synced write: a synced write, and all before it, are on the disk when it is answered. Neither ever damages the
    file, nor leaves half a write. Without WAL every write is synced.
    """

    def __init__(self, path: Path, opened: Opened, readers: list[Connection]) -> None:
        self.path = path
        self.note = opened.note
        self._writer = Writer(path, opened)
        self._readers = readers
        self._idle_readers: SimpleQueue[Connection] = SimpleQueue()
        for reader in readers:
            self._idle_readers.put(reader)
        self._reading = ThreadPoolExecutor(len(readers), "store-reader")
        atexit.register(self.close)  # what was accepted is carried out, even if nobody closes

    @classmethod
    def open(cls, path: Path) -> SessionDB:
        """Open a store, or make one where nothing or an empty file is. Blocks; for the start or for a thread.

        An older file is brought up to date; `note` then names the copy of it as it was. Raises ForeignDatabase,
        NotADatabase, NewerDatabase, UnsavedDatabase, UnusableDatabase, SearchlessSqlite or BusyDatabase.
        """
        require_fts5(path)
        claim(path)
        with ExitStack() as connections:
            try:
                opened = open_writer(path)
                connections.callback(opened.connection.close)
                opened.connection.run("PRAGMA foreign_keys = ON")
                readers = [open_reader(path) for _ in range(READERS)]
            except sqlite3.DatabaseError as error:
                raise refusal(path, error) from error
            connections.pop_all()
        return cls(path, opened, readers)

    def write(
        self, fn: Callable[[Tables], T], *, patience: Patience = Patience.ROUTINE, is_synced: bool = False
    ) -> Future[T]:
        """Run `fn` in a transaction on the writer thread, once, after all writes asked for before.

        The future resolves after the commit and cannot be cancelled. What `fn` raises undoes its writes and comes out
        of the future, as do BusyDatabase (another process held the lock for longer than `patience`), VanishedDatabase
        and FailedWrite. Writes that wait share a transaction in which each can fail alone; only what befalls the file
        (no room, an I/O error) can take those with it that shared one. `is_synced` answers when the write is on the
        disk, which takes milliseconds. Raises ClosedDatabase.
        """
        return self._writer.change(fn, patience, is_synced=is_synced)

    def read(self, fn: Callable[[Tables], T]) -> Future[T]:
        """Run `fn` over one unchanging view of the store, beside any write. Raises ClosedDatabase."""
        try:
            return self._reading.submit(self._view, fn)
        except RuntimeError as error:  # the executor's word for "shut down"
            raise ClosedDatabase(path=self.path) from error

    def aside(self, fn: Callable[[Connection], T]) -> Future[T]:
        """Run `fn` on the writer's connection between two transactions, for what cannot stand in one (VACUUM).

        It may overtake writes that wait for another process. Fails as `write` does. Raises ClosedDatabase.
        """
        return self._writer.aside(fn)

    def data_version(self) -> Future[int]:
        """A number that changes whenever another process has committed something, and with nothing done here.

        Locks nothing and waits for nobody's transaction. Raises ClosedDatabase.
        """
        return self.aside(data_version)

    def close(self) -> None:
        """Finish what was asked for, then let go of the file; a second time does nothing. Blocks.

        The last process to do so folds the log into the file and removes it.
        """
        atexit.unregister(self.close)
        self._reading.shutdown()
        for reader in self._readers:
            reader.close()
        self._writer.close()

    def _view(self, fn: Callable[[Tables], T]) -> T:
        reader = self._idle_readers.get()
        try:
            with reader.snapshot():
                return fn(Tables(reader))
        except sqlite3.ProgrammingError:
            raise  # a mistake in `fn`, not something that befell the file
        except sqlite3.DatabaseError as error:
            raise refusal(self.path, error, READ_PATIENCE_S) from error
        finally:
            self._idle_readers.put(reader)


def refusal(path: Path, error: sqlite3.DatabaseError, waited_s: float | None = None) -> UserError:
    """What SQLite refused, as a sentence. An opening waits as long as a routine write."""
    if is_busy(error):
        return BusyDatabase(path=path, waited_s=PATIENCE_S[Patience.ROUTINE] if waited_s is None else waited_s)
    return unusable(path, error)


def open_reader(path: Path) -> Connection:
    # Not "mode=ro": such a connection cannot tidy up after a process that was killed.
    reader = Connection.to(path, busy_timeout_s=READ_PATIENCE_S)
    reader.run("PRAGMA query_only = ON")
    reader.run(f"PRAGMA cache_size = -{CACHE_KIB}")
    return reader


def data_version(connection: Connection) -> int:
    return int(str(connection.value("PRAGMA data_version")))
