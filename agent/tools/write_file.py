"""`write_file`: create or replace a text file, whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

from agent.approvals.paths import resolve
from agent.tools.arguments import known_only, required_text
from agent.tools.base import Arguments, CallContext, ToolResult, Touch, Workplace
from session.models import CallOutcome

NAME = "write_file"
DESCRIPTION = (
    "Write a text file as UTF-8, exactly as given. Replaces a file that exists, keeps its mode, and makes missing "
    "folders. A reader never sees half of it."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or from the session's folder."},
        "content": {"type": "string", "description": "The whole new content."},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}
_FIELDS = ("path", "content")
_LEAVE_S = 0.2


def touches(args: Arguments, place: Workplace) -> Touch:
    return Touch(writes=(resolve(_read(args)[0], place),))


def shown(args: Arguments) -> str:
    path, content = _read(args)
    return f"{path}\n\n{content}"


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path, content = _read(args)
    target = resolve(path, ctx.place)
    is_cancelled = threading.Event()
    writing = asyncio.ensure_future(asyncio.to_thread(_write, target, content.encode(), is_cancelled.is_set))
    try:
        was_there = await asyncio.shield(writing)
    except OSError as error:
        return ToolResult(f"{target} was not written: {error.strerror or error}.", CallOutcome.ERROR)
    except asyncio.CancelledError:
        is_cancelled.set()
        await asyncio.wait({writing}, timeout=_LEAVE_S)
        raise
    verb = "Replaced" if was_there else "Created"
    return ToolResult(f"{verb} {target}: {_counted(content)}, {len(content.encode()):,} bytes.")


def _read(args: Arguments) -> tuple[str, str]:
    known_only(args, _FIELDS)
    return required_text(args, "path"), required_text(args, "content")


def _write(target: Path, content: bytes, is_cancelled: Callable[[], bool]) -> bool:
    """Write beside the target, then rename over it. Returns whether there was a file before."""
    mode = _mode_of(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.parent / f".hermes-{uuid.uuid4().hex}.tmp"
    try:
        with draft.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not is_cancelled():
            draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return mode is not None


def _mode_of(target: Path) -> int | None:
    """Permission bits of the file to replace, None when there is none. Raises OSError when it must not be replaced."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(0, "it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is a pipe, socket or device, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "it is read-only")
    return stat.S_IMODE(status.st_mode)


def _counted(content: str) -> str:
    lines = content.count("\n") + (bool(content) and not content.endswith("\n"))
    return f"{lines:,} line{'' if lines == 1 else 's'}"
