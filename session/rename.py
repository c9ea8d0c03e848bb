"""Giving a store the new name of its profile."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from session.db import SessionDB
from session.errors import UserError
from session.tables import Tables


class NameTaken(UserError):
    """Rows of the old and of the new name can't be told apart any more once they bear the same."""

    sentence = (
        "{path} holds rows of both {old} and {new} that would become the same ({reason}). Nothing was changed in it."
    )


class _Undone(Exception):
    """Ends a rehearsal: its transaction is rolled back."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows


def rename_profile(path: Path, old: str, new: str, *, is_rehearsal: bool = False) -> int:
    """Put the new name in the place of the old one throughout a store, all or nothing; the number of rows changed.

    A second time changes nothing. A rehearsal undoes what it did. Blocks. Raises NameTaken and what opening a store
    and writing in it raise; each names the file.
    """

    def rename(tables: Tables) -> int:
        rows = tables.profile_names.rename(old, new)
        if is_rehearsal:
            raise _Undone(rows)
        return rows

    db = SessionDB.open(path)
    try:
        return db.write(rename).result()
    except _Undone as rehearsal:
        return rehearsal.rows
    except sqlite3.IntegrityError as error:
        raise NameTaken(path=path, old=old, new=new, reason=error) from error
    finally:
        db.close()
