"""A copy of a store as it was before its format changes, or before it is repaired."""

from __future__ import annotations

import filecmp
import itertools
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from session.connection import Connection
from session.errors import UserError


def keep_copy(path: Path, before: str, unsaved: type[UserError]) -> Path:
    """Copy what is committed in a store to "state.db.before-…" beside it; `before` is what comes: "2", a format; "repair".

    Whoever calls for a change of format holds the store's write lock, on another connection. A copy that stands there
    already stays: it is as good as a new one, or the new one gets a number behind its name. Raises `unsaved`, with the
    path and the reason.
    """
    kept = path.with_name(f"{path.name}.before-{before}")
    part = kept.with_name(f"{kept.name}.part")  # left behind by a kill, it is made anew
    try:
        write_copy(path, part)
        return put_in_place(part, kept)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise unsaved(path=path, reason=error) from error


def write_copy(path: Path, part: Path) -> None:
    """Make the copy, on the disk when this returns, readable by its owner only."""
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(Connection.to(path)) as source, closing(Connection.to(part)) as copy:
        copy.run("PRAGMA journal_mode = OFF")  # half a copy is thrown away, not repaired
        source.copy_to(copy)


def put_in_place(part: Path, kept: Path) -> Path:
    """Give the copy its name, or drop it where the same was kept before."""
    for number in itertools.count(1):
        place = kept if number == 1 else kept.with_name(f"{kept.name}-{number}")
        if not place.exists():
            return part.rename(place)
        if filecmp.cmp(part, place, shallow=False):
            part.unlink()
            return place
    raise AssertionError("names do not run out")
