"""The database, and who holds locks in the home."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from agent.config.home import Home
from agent.doctor.finding import Finding, Grade
from session.inspection import CHECK_S, Inspection, inspect
from session.lease import is_held
from session.process import this_process
from session.schema import USER_VERSION

AREA = "database"
MUCH_WAL_BYTES = 100_000_000

_LOCKS = Path("/proc/locks")  # Linux only; nothing else tells of a lock without taking it
_LOCK = re.compile(r"\S+\s+\S+\s+\S+\s+\S+\s+(\d+)\s+([0-9a-f]+):([0-9a-f]+):(\d+)\s", re.ASCII)


def examine_store(home: Home) -> Iterator[Finding]:
    shown = f"{home.shown}/{home.db.name}"
    try:
        found = inspect(home.db)
    except FileNotFoundError:
        yield Finding(AREA, Grade.NOTE, f"{shown} does not exist yet; the first start makes it.")
        return
    except (OSError, sqlite3.Error) as error:
        yield _unreadable(shown, error)
        return
    yield from _judged(shown, found)
    yield from _turns_now(found)
    yield from _locks(home)


def _unreadable(shown: str, error: OSError | sqlite3.Error) -> Finding:
    why = error.strerror if isinstance(error, OSError) else str(error)
    fix = "move it away, or set HERMES_HOME to another folder"
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:
        # A log without its index, as a copied home has it: reading it would mean to make one.
        fix = "check its permissions; if it was copied, start hermes once and ask again"
    return Finding(AREA, Grade.PROBLEM, f"{shown} can't be read ({why}).", fix)


def _judged(shown: str, found: Inspection) -> Iterator[Finding]:
    if found.size_bytes == 0:
        yield Finding(AREA, Grade.OK, f"{shown} is empty.")
        return
    if not found.is_ours:
        fix = "set HERMES_HOME to another folder"
        yield Finding(
            AREA, Grade.PROBLEM, f"{shown} belongs to another program (application id {found.application_id}).", fix
        )
        return
    yield _format(shown, found)
    yield _integrity(shown, found)
    yield from _log(found)
    if found.open_turns:
        yield Finding(
            AREA, Grade.NOTE, f"{_turns(found.open_turns)} now, or will be settled when the session is opened."
        )


def _format(shown: str, found: Inspection) -> Finding:
    said = f"{shown} is ours, format {found.version}, {found.size_bytes / 1e6:,.1f} MB."
    if found.is_newer:
        return Finding(AREA, Grade.PROBLEM, f"{said} This hermes knows up to format {USER_VERSION}.", "update hermes")
    return Finding(AREA, Grade.OK, said)


def _integrity(shown: str, found: Inspection) -> Finding:
    match found.check:
        case "ok":
            return Finding(AREA, Grade.OK, "SQLite finds nothing wrong in it.")
        case "":
            return Finding(AREA, Grade.NOTE, f"It is large: the check was given up after {CHECK_S:.0f} s.")
        case wrong:
            fix = f"end every hermes, copy {shown} away, then: hermes sessions repair"
            return Finding(AREA, Grade.PROBLEM, f"SQLite finds it damaged: {' '.join(wrong.split())}.", fix)


def _log(found: Inspection) -> Iterator[Finding]:
    if not found.is_wal:
        fix = "put the home on a local disk"
        yield Finding(AREA, Grade.NOTE, "It is kept without a write-ahead log: writers wait for each other.", fix)
    elif found.wal_bytes > MUCH_WAL_BYTES:
        said = f"Its write-ahead log has grown to {found.wal_bytes / 1e6:,.0f} MB."
        yield Finding(AREA, Grade.WARNING, said, "end every hermes and start one again: it folds the log into the file")
    else:
        yield Finding(AREA, Grade.OK, f"Its write-ahead log has {found.wal_bytes / 1e6:,.1f} MB.")


def _turns_now(found: Inspection) -> Iterator[Finding]:
    here, now = this_process(), time.time()
    for lease in found.leases:
        if is_held(lease, here, now):
            who = f"process {lease.holder.pid} on {lease.holder.host_name}"
            yield Finding(AREA, Grade.OK, f"Session {lease.claim.session_id} is held by {who}.")


def _turns(count: int) -> str:
    return "1 turn runs" if count == 1 else f"{count} turns run"


def _locks(home: Home) -> Iterator[Finding]:
    """The processes that use the database and the home."""
    try:
        held = [
            (int(pid), os.makedev(int(major, 16), int(minor, 16)), int(inode)) for pid, major, minor, inode in _lines()
        ]
    except OSError:
        return
    files = (home.db, home.db.with_name(f"{home.db.name}-shm"), *sorted(home.locks.glob("*.lock")))
    for path in files:
        pids = sorted({pid for pid, device, inode in held if (device, inode) == _identity(path)})
        if pids:
            name = path.relative_to(home.root)
            yield Finding(AREA, Grade.OK, f"{name} is held by process {', '.join(map(str, pids))}.")


def _lines() -> list[tuple[str, str, str, str]]:
    return _LOCK.findall(_LOCKS.read_text())


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (-1, -1)
    return status.st_dev, status.st_ino
