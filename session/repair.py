"""`repair`: look for all that can be wrong in a store, mend what can be mended, and say what is left and what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from session.backup import keep_copy
from session.db import SessionDB
from session.errors import NotADatabase, UnusableDatabase, UserError
from session.repair_checks import (
    Check,
    ConversationCheck,
    DeletedCheck,
    Fault,
    FileCheck,
    IndexCheck,
    SessionRowCheck,
    StrayCheck,
)
from session.salvage import Salvaged, Unsalvageable, salvage

LEFT_IN_SESSIONS = (
    "The sessions named can still be read, exported and gone on with: a damaged row stands as a notice in its place, "
    "and what a model is sent is made whole each time. What a damaged row said cannot be brought back."
)
UNFINISHED = "The check of the file's pages took too long and was broken off, so something in them may still be wrong."
INDEX_FIRST = "The conversations are judged once the search index is made anew."
RUN_IT = "Nothing was changed. `hermes sessions repair` without --dry-run mends what it can."
KEPT = (
    "The file as it was before is kept in {backup}. Remove it when all is well: it also holds what was deleted since."
)
PUT_IN_PLACE = (
    "What could be read (sessions: {sessions}, messages: {messages}) is in {copy}. To go on with that: close every "
    "hermes, move {path}, {path}-wal and {path}-shm to another folder, and rename {copy} to {path}."
)
NOT_SALVAGED = "Nothing could be read of it ({reason}). Put a backup in its place if there is one."
NO_HEADER = (
    "{path} does not begin as a SQLite database does, so hermes reads nothing of it. Put a backup in its place if there is "
    "one, or try: sqlite3 {path} .recover"
)


class UnsavedRepair(UserError):
    """No copy of the store could be made, so it was not touched."""

    sentence = (
        "{path} was not repaired, because no copy of it could be made first: {reason}. Nothing was changed. "
        "Free some space or check the folder's permissions, then try again."
    )


class Report(Struct, frozen=True):
    """What was found, what of it was mended, and what is left. `to_do` are sentences to the person.

    `backup` is a copy of the file as it was, "" where nothing was changed; `salvaged` a new file with what could be read
    of a damaged one, "" where that was not needed.
    """

    path: str
    found: tuple[Fault, ...] = ()
    mended: tuple[Fault, ...] = ()
    left: tuple[Fault, ...] = ()
    to_do: tuple[str, ...] = ()
    backup: str = ""
    salvaged: str = ""


def repair(path: Path, now: float, *, looks_only: bool = False) -> Report:
    """Repair the store at `path`. Blocks, for a minute or two where there are a million messages.

    A session in which another process works is left to it. Raises what `SessionDB.open` raises of a file that is not
    damaged, UnsavedRepair, BusyDatabase or FailedWrite.
    """
    try:
        db = SessionDB.open(path)
    except NotADatabase:
        return damaged(path, "It is not a SQLite database", NO_HEADER.format(path=path))
    except UnusableDatabase as error:
        if not is_damage(error):
            raise
        return salvaged(
            damaged(path, f"SQLite says of the file: {error.values['reason']}"), path, looks_only=looks_only
        )
    try:
        return repair_open(db, now, looks_only=looks_only)
    finally:
        db.close()


def repair_open(db: SessionDB, now: float, *, looks_only: bool) -> Report:
    """The pages first, then the index: where they are damaged, the conversations cannot all be read and judged."""
    file = FileCheck()
    report = checked(Report(str(db.path)), db, [file], now, looks_only=looks_only)
    if report.left:
        return salvaged(report, db.path, looks_only=looks_only)
    report = checked(report, db, [IndexCheck()], now, looks_only=looks_only)
    if report.left:
        return told(replace(report, to_do=(INDEX_FIRST,)), file, looks_only=looks_only)
    others: list[Check] = [StrayCheck(now), DeletedCheck(), SessionRowCheck(), ConversationCheck(now)]
    return told(checked(report, db, others, now, looks_only=looks_only), file, looks_only=looks_only)


def checked(report: Report, db: SessionDB, checks: list[Check], now: float, *, looks_only: bool) -> Report:
    """The report with what these checks found, after they have mended what they can."""
    before = {check: check.find(db) for check in checks}
    found = [fault for faults in before.values() for fault in faults]
    left = found
    broken = [check for check, faults in before.items() if faults and check.can_mend]
    if broken and not looks_only:
        report = report if report.backup else replace(report, backup=str(keep_copy(db.path, "repair", UnsavedRepair)))
        for check in broken:
            check.mend(db, now)
        left = [fault for check, faults in before.items() if faults for fault in check.find(db)]
    return replace(
        report,
        found=(*report.found, *found),
        mended=(*report.mended, *(fault for fault in found if fault not in left)),
        left=(*report.left, *left),
    )


def told(report: Report, file: FileCheck, *, looks_only: bool) -> Report:
    """The report with what a person should do about it."""
    to_do = [
        "" if file.is_finished else UNFINISHED,
        LEFT_IN_SESSIONS if any(fault.session_id for fault in report.left) else "",
        RUN_IT if looks_only and report.found else "",
        KEPT.format(backup=report.backup) if report.backup else "",
    ]
    return replace(report, to_do=(*report.to_do, *filter(None, to_do)))


# --- a file that cannot be used any more


def damaged(path: Path, what: str, *to_do: str) -> Report:
    fault = Fault(what)
    return Report(str(path), found=(fault,), left=(fault,), to_do=to_do)


def salvaged(report: Report, path: Path, *, looks_only: bool) -> Report:
    """The report of a damaged file, with a new one beside it that holds what could be read."""
    if looks_only:
        return replace(report, to_do=(*report.to_do, RUN_IT))
    try:
        found = salvage(path)
    except Unsalvageable as error:
        return replace(report, to_do=(*report.to_do, NOT_SALVAGED.format(reason=error.values["reason"])))
    return replace(report, to_do=(*report.to_do, about(path, found)), salvaged=str(found.path))


def about(path: Path, found: Salvaged) -> str:
    return PUT_IN_PLACE.format(path=path, copy=found.path, sessions=found.sessions, messages=found.messages)


def is_damage(error: UnusableDatabase) -> bool:
    """Whether the file itself is at fault, and not a permission, a lock or the disk."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
