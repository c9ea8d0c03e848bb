"""A copy of what a compaction takes out of a conversation, where the settings ask for one before anything is taken out.

It is a file of the same lines as an export, so that `hermes sessions import` makes a session of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.config.settings import Settings
from agent.context.plan import CompactionPlan
from agent.open_session import OpenSession
from session.errors import UserError
from session.models import ApiMode, Message, Route
from session.tables import Tables

if TYPE_CHECKING:  # a start does without these
    from session.jsonl import Header, Row

log = logging.getLogger(__name__)

FOLDER = "checkpoints"  # beside what the session's commands put out, and goes with the session as that does


class CheckpointRefused(UserError):
    """compression.checkpoint_required is on, and the copy could not be made or read back."""

    sentence = (
        "The conversation was not compacted: compression.checkpoint_required asks for a copy of what leaves it, and none "
        "could be kept. {reason} Free some space, or turn that setting off."
    )


async def take_checkpoint(s: OpenSession, plan: CompactionPlan) -> Path:
    """Write what a plan takes out, and read it back; the file. Raises CheckpointRefused."""
    from session.jsonl import header_of, row_of

    ids = {row.id for row in (*plan.middle, *plan.cut)}

    def read(tables: Tables) -> list[Message]:
        return [row for row in tables.messages.all(s.id) if row.id in ids]

    rows = await asyncio.wrap_future(s.parts.db.read(read))
    if len(rows) != len(ids):
        raise CheckpointRefused(reason="Some of it is not in the store.")
    path = s.place.outputs / FOLDER / f"{rows[0].id}-{rows[-1].id}.jsonl"
    header = header_of(s.session, messages=len(rows), sessions_left=0, prompt="", usage=())
    named = replace(header, id=f"{s.id}.compacted-{path.stem}", rewinds=0, revision=0, ended_at=None, end_reason=None)
    await asyncio.to_thread(_keep, path, named, [row_of(row) for row in rows])
    return path


def may_compact_on_server(settings: Settings, route: Route) -> bool:
    """Whether a server may be asked to shorten a conversation itself: then nobody sees what it drops."""
    if route.api_mode is not ApiMode.RESPONSES or not settings.compression.enabled:
        return False
    if settings.compression.checkpoint_required:
        _say_once()
        return False
    return True


def _keep(path: Path, header: Header, rows: list[Row]) -> None:
    """Durable, for its owner only, and the same when it is read again. Raises CheckpointRefused."""
    from session.export import write_export
    from session.imported import RefusedImport
    from session.jsonl_file import JsonlFile, Said

    said = Said()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_export(path, _lines(header, said.through(rows)), overwrite=True)
        for folder in (path.parent, path.parent.parent):
            _sync(folder)
        with JsonlFile.open(path) as file:
            (entry,) = file.entries()
    except RefusedImport as error:
        raise CheckpointRefused(reason=f"It could not be read back: {error}") from error
    except UserError as error:
        raise CheckpointRefused(reason=error) from error
    except OSError as error:
        raise CheckpointRefused(reason=f"{path.parent}: {error.strerror or error}.") from error
    if entry.digest != said.digest:
        raise CheckpointRefused(reason=f"{path} does not hold what was written.")


def _lines(header: Header, rows: Iterable[Row]) -> Iterable[str]:
    from session.jsonl import encode_line

    yield encode_line(header)
    yield from map(encode_line, rows)


def _sync(folder: Path) -> None:
    """A file is there after a power cut only if its folder says so."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _say_once() -> None:
    log.warning("no server is asked to compact: compression.checkpoint_required is on, and it would keep no copy")
