"""Several changes in one transaction, each as if it had one of its own."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Generic, TypeVar, cast

from msgspec import Struct

from session.connection import PATIENCE_S, Connection, Patience, is_busy, pause_s
from session.errors import BusyDatabase, FailedWrite
from session.tables import Tables

T = TypeVar("T")


class Change(Struct, Generic[T], eq=False):
    """A function to run in a transaction, and what came of it."""

    fn: Callable[[Tables], T]
    future: Future[T]
    patience: Patience
    is_synced: bool
    deadline: float = 0.0  # when it stops waiting for the write lock
    result: T | None = None
    error: BaseException | None = None

    def fail(self, path: Path, error: BaseException) -> None:
        self.error = told(path, error, PATIENCE_S[self.patience])

    def answer(self) -> None:
        if self.error is None:
            self.future.set_result(cast("T", self.result))
        else:
            self.future.set_exception(self.error)


Batch = list[Change[object]]


class GroupCommit:
    """Runs changes in the transaction that was begun on a connection, and commits it."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self._path = path
        self._connection = connection
        self._tables = Tables(connection)

    def carry_out(self, batch: Batch) -> int:
        """Run and commit; each change then holds its result or its error. How many of them ran.

        That is all of them, unless an error made SQLite undo the whole transaction (a full disk): then those before it
        have failed with it, and those after it can still run in another one.
        """
        ran = self._run(batch)
        self._commit([change for change in batch[:ran] if change.error is None])
        return ran

    def _run(self, batch: Batch) -> int:
        if len(batch) == 1:
            self._run_alone(batch[0])
            return 1
        for count, change in enumerate(batch, 1):
            if not self._run_among_others(change):
                for earlier in batch[: count - 1]:
                    earlier.error = earlier.error or FailedWrite(path=self._path, reason=change.error)
                return count
        return len(batch)

    def _run_alone(self, change: Change[object]) -> None:
        try:
            change.result = change.fn(self._tables)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to whoever asked
            change.fail(self._path, error)

    def _run_among_others(self, change: Change[object]) -> bool:
        """Run so that it can be undone without the others; whether the transaction still stands."""
        try:
            self._connection.run("SAVEPOINT change")
            change.result = change.fn(self._tables)
            self._connection.run("RELEASE change")
        except BaseException as error:  # noqa: BLE001 - as above
            change.fail(self._path, error)
            return self._undo_one()
        return True

    def _undo_one(self) -> bool:
        try:
            self._connection.run("ROLLBACK TO change")
            self._connection.run("RELEASE change")
        except sqlite3.DatabaseError:  # there is no transaction any more, or it cannot be saved
            self._connection.undo()
            return False
        return True

    def _commit(self, batch: Batch) -> None:
        """Make the changes last. What prevents that is the error of each, and undoes them all."""
        if not batch:
            self._connection.undo()
            return
        try:
            self._commit_patiently(max(PATIENCE_S[change.patience] for change in batch))
        except sqlite3.DatabaseError as error:
            for change in batch:
                change.fail(self._path, error)
            self._connection.undo()

    def _commit_patiently(self, patience_s: float) -> None:
        began = time.monotonic()
        while True:
            try:
                self._connection.run("COMMIT")
                return
            except sqlite3.OperationalError as error:
                # Without WAL, those who read at this moment must be done first.
                if not is_busy(error) or time.monotonic() - began >= patience_s:
                    raise
            time.sleep(pause_s(time.monotonic() - began))


def told(path: Path, error: BaseException, waited_s: float) -> BaseException:
    """What befell the file, as a sentence; a mistake in the function that was run stays what it is."""
    match error:
        case sqlite3.IntegrityError() | sqlite3.ProgrammingError():
            return error
        case sqlite3.DatabaseError():
            said = (
                BusyDatabase(path=path, waited_s=waited_s) if is_busy(error) else FailedWrite(path=path, reason=error)
            )
            said.__cause__ = error
            return said
        case _:
            return error
