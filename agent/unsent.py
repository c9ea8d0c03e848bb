"""Drafts that were not sent: kept in the store a second behind the keys, and found again at the next start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from agent.config.masking import Masking
from session.db import SessionDB
from session.errors import UserError
from session.process import Process, runs, this_process
from session.state import DRAFT
from session.tables import Tables

log = logging.getLogger(__name__)

MOST_LOOKED_AT = 50


class Draft(Struct, frozen=True):
    """A draft, and the long texts that were pasted into it by the labels that stand for them."""

    text: str = ""
    pasted: Mapping[str, str] = field(default_factory=dict[str, str])


class _Kept(Struct, frozen=True):
    """A draft as it lies in the store. `folder` and `owner` tell whose it is where its session was never stored."""

    draft: Draft
    folder: str
    owner: Process


class UnsentDrafts:
    """The drafts of one profile. Secrets give way to their names before anything is stored."""

    def __init__(self, store: SessionDB, masking: Masking) -> None:
        self._store = store
        self._masking = masking

    def keep(self, session_id: str, folder: str, draft: Draft) -> None:
        """Keep the draft of a session, or forget it where it is empty. It does not wait for the disk."""
        self._store.write(lambda tables: self._put(tables, session_id, folder, draft)).add_done_callback(_log_failure)

    async def of(self, session_id: str, folder: str, *, is_new: bool) -> Draft:
        """The draft of a session. A new one takes over what was left in a new session of its folder by a process that is
        gone. Raises UserError."""
        if is_new:
            return await asyncio.wrap_future(self._store.write(lambda tables: _take_over(tables, session_id, folder)))
        value = await asyncio.wrap_future(self._store.read(lambda tables: tables.state.get(DRAFT + session_id)))
        return _decoded(value).draft if value else Draft()

    def _put(self, tables: Tables, session_id: str, folder: str, draft: Draft) -> None:
        if not draft.text:
            tables.state.remove(DRAFT + session_id)
            return
        mask = self._masking.text
        masked = Draft(mask(draft.text), {label: mask(one) for label, one in draft.pasted.items()})
        _store(tables, session_id, _Kept(masked, folder, this_process()))


def _take_over(tables: Tables, session_id: str, folder: str) -> Draft:
    """The latest draft that belongs to nobody any more; it is that of this session from now on."""
    here = this_process()
    for key, value in tables.state.under(DRAFT, MOST_LOOKED_AT):
        kept = _decoded(value)
        is_left = kept.folder == folder and runs(kept.owner, here) is False
        if is_left and tables.sessions.get(key.removeprefix(DRAFT)) is None:
            tables.state.remove(key)
            _store(tables, session_id, replace(kept, owner=here))
            return kept.draft
    return Draft()


def _store(tables: Tables, session_id: str, kept: _Kept) -> None:
    tables.state.put(DRAFT + session_id, msgspec.json.encode(kept).decode())


def _decoded(value: str) -> _Kept:
    return msgspec.json.decode(value, type=_Kept)


def _log_failure(keeping: Future[None]) -> None:
    if not keeping.cancelled() and isinstance(error := keeping.exception(), UserError):
        log.warning("a draft was not kept: %s", error)
