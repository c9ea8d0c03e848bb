"""The content of a file replaced, whole or not at all, and only while it is the content that the new one was made from."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from agent.tools.opened import BecameLink, NotReadable, file_in, folder_at, require_regular
from agent.tools.seen_files import FileState, stated

T = TypeVar("T")

IsCancelled = Callable[[], bool]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LEAVE_S = 0.2
# Two calls of this process that change the same file: the second one to get here finds that it changed.
_turnstile = threading.Lock()


class NotReplaced(Exception):
    """Nothing was written. The text is a sentence for the model."""


class Current(Struct, frozen=True):
    """A file as it is. `content` is b"" where it is too large to be read."""

    content: bytes
    state: FileState
    is_large: bool


@contextmanager
def told(path: Path) -> Generator[None]:
    """What goes wrong with a file, as NotReplaced."""
    try:
        yield
    except NotReadable as error:
        raise NotReplaced(f"{path} was not written: it is {error}.") from error
    except OSError as error:
        raise NotReplaced(f"{path} was not written: {error.strerror or error}.") from error


def current(path: Path, most_bytes: int) -> Current | None:
    """The file at a resolved path, None where there is none. Raises NotReadable, OSError."""
    try:
        with folder_at(path.parent) as folder, file_in(folder, path) as file:
            about = os.fstat(file.fileno())
            content = file.read(most_bytes + 1)
            is_large = len(content) > most_bytes
            return Current(b"" if is_large else content, stated(about, None if is_large else content), is_large)
    except FileNotFoundError:
        return None


def replace_content(path: Path, content: bytes, base: FileState | None, is_cancelled: IsCancelled) -> FileState:
    """Write beside the file, then rename over it. `base` is what the file must still be, None for a new one.

    Its mode stays, and its owner where we may give it. Raises NotReplaced, NotReadable, OSError.
    """
    with folder_at(path.parent, is_made=base is None) as folder:
        old = _status(folder, path)
        if old is not None and not os.access(path.name, os.W_OK, dir_fd=folder):
            raise NotReplaced(f"{path} was not written: it is read-only.")
        draft = f".hermes-{uuid.uuid4().hex}.tmp"
        try:
            about = _write_draft(folder, draft, content, old)
            with _turnstile:
                _require_unchanged(folder, path, base)
                if is_cancelled():
                    raise NotReplaced(f"{path} was not written: the call was interrupted.")
                os.rename(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
    return stated(about, content)


async def to_its_end(work: Callable[[IsCancelled], T]) -> T:
    """Run work in a thread. A cancelled caller leaves after a moment at most, and the work is told to stop."""
    is_cancelled = threading.Event()
    working = asyncio.ensure_future(asyncio.to_thread(work, is_cancelled.is_set))
    working.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be there to hear of it
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        is_cancelled.set()
        await asyncio.wait({working}, timeout=_LEAVE_S)
        raise


def _write_draft(folder: int, draft: str, content: bytes, old: os.stat_result | None) -> os.stat_result:
    with os.fdopen(os.open(draft, _NEW, 0o666, dir_fd=folder), "wb") as file:
        if old is not None:
            with suppress(PermissionError):  # only root may give a file away
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _require_unchanged(folder: int, path: Path, base: FileState | None) -> None:
    now = _status(folder, path)
    if base is None and now is not None:
        raise NotReplaced(f"{path} was made by somebody else meanwhile; read it first. Nothing was written.")
    if base is not None and (now is None or not stated(now, None).is_same_file(base)):
        raise NotReplaced(f"{path} changed on disk at this moment; read it again. Nothing was written.")


def _status(folder: int, path: Path) -> os.stat_result | None:
    try:
        status = os.lstat(path.name or ".", dir_fd=folder)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise BecameLink(path)
    require_regular(status)
    return status
