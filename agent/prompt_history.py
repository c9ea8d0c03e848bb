"""What a person wrote before, in all sessions of a profile: kept in the store, so that every process adds to one history."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import msgspec
from msgspec import Struct

from agent.config.masking import Masking
from session.db import SessionDB
from session.errors import UserError
from session.tables import Tables

log = logging.getLogger(__name__)

PREFIX, PASTED = "prompt:", "pasted:"
MOST = 1_000  # entries
MOST_PASTED = 50  # of them keep the long texts that were pasted into them
LONGEST_PASTED = 4_000_000  # characters of all pasted texts of an entry; beyond it none is kept


class Earlier(Struct, frozen=True):
    """One entry. `labels` are what stands in it for a pasted text of its own."""

    text: str
    labels: tuple[str, ...] = ()
    key: str = ""


class PromptHistory:
    """The entries of one profile. Secrets give way to their names before anything is stored."""

    def __init__(self, store: SessionDB, masking: Masking, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._store = store
        self._masking = masking
        self._now_ns = now_ns
        self._adding: Future[None] | None = None

    def add(self, text: str, pasted: Mapping[str, str]) -> None:
        """Keep a prompt, unless it is the one before it again. It does not wait for the disk."""
        self._adding = self._store.write(lambda tables: self._put(tables, text, pasted))
        self._adding.add_done_callback(_log_failure)

    async def newest(self) -> list[Earlier]:
        """All entries, the newest first. Raises UserError."""
        if self._adding is not None:
            await asyncio.wait([asyncio.wrap_future(self._adding)])
        stored = await asyncio.wrap_future(self._store.read(lambda tables: tables.state.under(PREFIX, MOST)))
        return [msgspec.structs.replace(_decoded(value), key=key) for key, value in stored]

    async def pasted(self, entry: Earlier) -> Mapping[str, str]:
        """The pasted texts of an entry by their labels; none where they are not kept any more. Raises UserError."""
        key = PASTED + entry.key.removeprefix(PREFIX)
        value = await asyncio.wrap_future(self._store.read(lambda tables: tables.state.get(key)))
        return msgspec.json.decode(value, type=dict[str, str]) if value else {}

    def _put(self, tables: Tables, text: str, pasted: Mapping[str, str]) -> None:
        masked = {label: self._masking.text(one) for label, one in pasted.items()}
        entry = Earlier(self._masking.text(text), tuple(masked))
        latest = tables.state.under(PREFIX, 1)
        if latest and _decoded(latest[0][1]) == entry and not masked:
            return
        number = f"{self._now_ns():020d}"
        tables.state.put(PREFIX + number, msgspec.json.encode(entry).decode())
        tables.state.trim(PREFIX, MOST)
        if masked and sum(map(len, masked.values())) <= LONGEST_PASTED:
            tables.state.put(PASTED + number, msgspec.json.encode(masked).decode())
            tables.state.trim(PASTED, MOST_PASTED)


def _decoded(value: str) -> Earlier:
    return msgspec.json.decode(value, type=Earlier)


def _log_failure(adding: Future[None]) -> None:
    if not adding.cancelled() and isinstance(error := adding.exception(), UserError):
        log.warning("a prompt was not kept in the history: %s", error)
