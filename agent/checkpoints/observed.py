"""Looking at one path: what stands there, and its content kept if it is new."""

from __future__ import annotations

import os
import stat
import time

from msgspec.structs import replace

from agent.checkpoints.blobs import Keeps, StoreFull
from agent.checkpoints.entry import Entry, Kind, entry_of, folder_of
from agent.checkpoints.limits import Limits, Why
from agent.checkpoints.tree import Tree, is_absence

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe in the place of a file would wait for ever
_TRIES = 3


def observe(
    folder: int, name: str, status: os.stat_result, known: Entry | None, keeps: Keeps, limits: Limits
) -> Entry | Why | None:
    """What stands at a name of an open folder, None where it is gone by now. `known` is what stood there last."""
    if known is not None and known.is_untouched(status):
        return known
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        fresh = folder_of(status)
        return known if known == fresh else fresh
    if kind not in (stat.S_IFREG, stat.S_IFLNK):
        return Why.SPECIAL
    try:
        if kind == stat.S_IFLNK:
            now_ns = time.time_ns()
            return entry_of(Kind.LINK, status, os.fsencode(os.readlink(name, dir_fd=folder)), now_ns)
        return _file(folder, name, keeps, limits)
    except StoreFull:
        return Why.FULL
    except OSError as error:
        if is_absence(error):
            return None
        return _closed(status, known)


def _file(folder: int, name: str, keeps: Keeps, limits: Limits) -> Entry | Why:
    """A file that is written meanwhile is read again, and then taken as it was found."""
    with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb", buffering=0) as file:
        tries = 0
        while True:
            tries += 1
            now_ns, status = time.time_ns(), os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Why.SPECIAL
            content = _content(file.fileno(), status.st_size, limits)
            if content is None:
                return Why.TOO_LARGE
            entry = entry_of(Kind.FILE, status, b"", now_ns)
            if entry.has_same_bytes(entry_of(Kind.FILE, os.fstat(file.fileno()))):
                return replace(entry, content=keeps.put(content))
            if tries == _TRIES:
                return replace(entry, content=keeps.put(content), ctime_ns=0)


def _content(descriptor: int, size_bytes: int, limits: Limits) -> bytes | None:
    if size_bytes > limits.file_bytes:
        return None
    pieces: list[bytes] = []
    at = 0
    while piece := os.pread(descriptor, max(size_bytes - at, 0) + 1, at):
        at += len(piece)
        pieces.append(piece)
        if at > limits.file_bytes:
            return None
    return b"".join(pieces)


def _closed(status: os.stat_result, known: Entry | None) -> Entry | Why:
    """A file that can't be read any more: if only its mode changed, its content is still known."""
    fresh = entry_of(Kind.FILE, status)
    if known is not None and known.kind is Kind.FILE and known.has_same_bytes(fresh):
        return replace(known, mode=fresh.mode)
    return Why.UNREADABLE


def observe_key(tree: Tree, key: str, known: Entry | None, keeps: Keeps, limits: Limits) -> Entry | Why | None:
    """The same for a path. One that can't even be looked at is UNREADABLE."""
    try:
        with tree.parent(key) as (folder, name):
            return observe(folder, name, os.lstat(name, dir_fd=folder), known, keeps, limits)
    except OSError as error:
        return None if is_absence(error) else Why.UNREADABLE


def opaque(status: os.stat_result) -> Entry:
    """What stands where nothing is kept of it."""
    return entry_of(Kind.OPAQUE, status)


def settle(tree: Tree, key: str, seen: Entry | Why | None, known: Entry | None) -> Entry | None:
    """What was seen, as an entry also where it can't be kept; as it was last where nothing can be told."""
    if not isinstance(seen, Why):
        return seen
    try:
        status = tree.status(key)
    except OSError:
        return known
    return None if status is None else opaque(status)
