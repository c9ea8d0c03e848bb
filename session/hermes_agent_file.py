"""The state.db of hermes-agent, read without a trace: from a private copy, so that it is neither locked nor touched."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from session.connection import Connection
from session.imported import RefusedImport

MAGIC = b"SQLite format 3\0"
LOG_HEADER_BYTES = 32
TRIES = 20
PAUSE_S = 0.2
BESIDE = ("-wal", "-journal")  # what belongs to the state of a database, besides its file

NEEDED = {"sessions": {"id", "source", "started_at"}, "messages": {"id", "session_id", "role", "content"}}

Record = Mapping[str, object]


class HermesAgentFile:
    """The tables of such a file, in whichever version they are: a column that is not there reads as None."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self._connection = connection
        self._columns = {table: self._columns_of(table) for table in (*NEEDED, "session_model_usage")}
        for table, needed in NEEDED.items():
            if not needed <= set(self._columns[table]):
                raise RefusedImport(path=path, reason="it is not the state.db of hermes-agent")

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Generator[HermesAgentFile]:
        """Read a file, or the one in a folder. Raises RefusedImport."""
        with copied(path / "state.db" if path.is_dir() else path) as copy:
            try:
                with closing(Connection.to(copy)) as connection:
                    connection.run("PRAGMA trusted_schema = OFF")
                    yield cls(path, connection)
            except sqlite3.DatabaseError as error:
                raise RefusedImport(path=path, reason=error) from error

    def sessions(self) -> list[Record]:
        """All sessions, the oldest first."""
        return list(self._records("sessions", "1 ORDER BY started_at, id"))

    def messages(self, session_id: str) -> list[Record]:
        """The rows of a session, in the order they were stored. Raises sqlite3.DatabaseError where they are damaged."""
        return list(self._records("messages", "session_id = ? ORDER BY id", session_id))

    def usage(self, session_id: str) -> list[Record]:
        if not self._columns["session_model_usage"]:
            return []
        return list(self._records("session_model_usage", "session_id = ?", session_id))

    def _records(self, table: str, where: str, *values: str) -> Iterator[Record]:
        columns = self._columns[table]
        named = ", ".join(f'"{column}"' for column in columns)
        for row in self._connection.each(f"SELECT {named} FROM {table} WHERE {where}", *values):
            yield dict(zip(columns, row, strict=True))

    def _columns_of(self, table: str) -> list[str]:
        return [
            str(name).replace('"', "")
            for (name,) in self._connection.rows(
                "SELECT c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name = ?",
                table,
            )
        ]


@contextmanager
def copied(path: Path) -> Generator[Path]:
    """A database as it stands, with what its log holds, in a folder that goes away again. Raises RefusedImport."""
    try:
        refuse_other_files(path)
        with tempfile.TemporaryDirectory(prefix="hermes-import-") as folder:
            copy = Path(folder) / "state.db"
            if not any(is_copied(path, copy) for _ in range(TRIES)):
                raise RefusedImport(path=path, reason="it is being written all the time; close hermes-agent first")
            yield copy
    except OSError as error:
        raise RefusedImport(path=path, reason=error.strerror or error) from error


def refuse_other_files(path: Path) -> None:
    if not path.is_file():
        raise RefusedImport(path=path, reason="there is no such file")
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise RefusedImport(path=path, reason="it is not a SQLite database")


def is_copied(path: Path, copy: Path) -> bool:
    """Copy the file, then what stands beside it. False, after a pause, where that was written anew meanwhile.

    While a log has one header it holds all that was put into the file since it had it: so what of the file was copied
    too early or too late stands in the log as well, and SQLite takes it from there.
    """
    before = state_of(path)
    shutil.copyfile(path, copy)
    for suffix in BESIDE:
        beside, target = path.with_name(path.name + suffix), copy.with_name(copy.name + suffix)
        target.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(beside, target)
    if state_of(path) == before:
        return True
    time.sleep(PAUSE_S)
    return False


def state_of(path: Path) -> object:
    """What stays the same while a copy is taken that can be used: the log's header, else the file and its journal."""
    with suppress(FileNotFoundError), path.with_name(path.name + "-wal").open("rb") as log:
        if header := log.read(LOG_HEADER_BYTES):
            return header
    return stamp(path), stamp(path.with_name(path.name + "-journal"))


def stamp(file: Path) -> tuple[int, int]:
    with suppress(FileNotFoundError):
        found = file.stat()
        return found.st_size, found.st_mtime_ns
    return -1, -1
