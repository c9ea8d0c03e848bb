"""What was said before, in this session and the others of its profile, for a tool to read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from session.db import SessionDB
    from session.tables import Tables

T = TypeVar("T")


class NoPast(Exception):
    """There is no store to read."""


class Past:
    """The store of one profile, only to be read. `mask` puts names in the place of secrets."""

    def __init__(self, db: SessionDB | None, session_id: str, mask: Callable[[str], str]) -> None:
        self._db = db
        self.session_id = session_id
        self.mask = mask

    async def read(self, look: Callable[[Tables], T]) -> T:
        """What `look` finds, in a thread of the store. Raises NoPast, and UserError where the file can't be read."""
        if self._db is None:
            raise NoPast
        return await asyncio.wrap_future(self._db.read(look))


NO_PAST = Past(None, "", lambda text: text)
