"""What is noted of a command while any of it lives, so that the next hermes can find what one that was killed left."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.tools.process_tree import started_of
from session.process import Process, this_process

log = logging.getLogger(__name__)

_COMMAND_CHARS = 2_000
_SUFFIX = ".json"


class CallRecord(Struct, frozen=True):
    """A command that was started, or is about to be: then its `pid` is 0. `hermes` is who started it.

    `pid` and `started` name the process that leads the command's session. `at` is in seconds since the epoch.
    """

    mark: str
    command: str
    session_id: str
    hermes: Process
    at: float
    pid: int = 0
    started: str = ""


class CallRecords:
    """The records of one session, a file each in a folder that all sessions of a profile share. Everything here blocks.

    A record that can't be written keeps nothing from running: it is of use only after a crash. `mask` keeps secrets out.
    """

    def __init__(self, folder: Path | None, session_id: str, mask: Callable[[str], str]) -> None:
        self._folder = folder
        self._session_id = session_id
        self._mask = mask

    def begin(self, mark: str, command: str) -> CallRecord:
        """Before the command starts."""
        said = self._mask(command)[:_COMMAND_CHARS]
        record = CallRecord(mark, said, self._session_id, this_process(), time.time())
        self._write(record)
        return record

    def name_leader(self, record: CallRecord, pid: int) -> None:
        self._write(replace(record, pid=pid, started=started_of(pid)))

    def remove(self, record: CallRecord) -> None:
        """When all of the command is gone."""
        if self._folder is not None:
            remove(self._folder, record)

    def _write(self, record: CallRecord) -> None:
        if self._folder is None:
            return
        new = self._folder / f"{record.mark}.new"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)  # not what is above it: a deleted profile stays deleted
            new.touch(mode=0o600)
            new.write_bytes(msgspec.json.encode(record))
            new.replace(_file(self._folder, record.mark))
        except OSError as error:
            log.warning("a running command could not be noted: %s", error)


NO_RECORDS = CallRecords(None, "", lambda text: text)


def remove(folder: Path, record: CallRecord) -> None:
    try:
        _file(folder, record.mark).unlink(missing_ok=True)
    except OSError as error:
        log.warning("the note of a command that ended stays: %s", error)


def read_records(folder: Path) -> Iterator[CallRecord]:
    """Every record that can be read."""
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            record = msgspec.json.decode(file.read_bytes(), type=CallRecord)
        except (OSError, msgspec.DecodeError) as error:
            log.warning("%s is no note of a command: %s", file, error)
            continue
        if file == _file(folder, record.mark):
            yield record


def _file(folder: Path, mark: str) -> Path:
    return folder / f"{mark}{_SUFFIX}"
