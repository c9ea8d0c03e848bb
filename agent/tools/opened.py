"""Files and folders opened by the very path that was judged: folder by folder, following no link on the way (C18).

A path is resolved and judged first. Whatever became a link between that and the use is an error, never followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

# O_PATH, where there is one, also passes through folders that may be entered but not listed.
_STEP = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_KINDS = (
    (stat.S_ISDIR, "a folder; list it with list_files"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


class NotReadable(Exception):
    """The path leads to something that cannot be read as a file, or not as text. The text completes "<path> is ..."."""


class BecameLink(OSError):
    """A part of the path was no link when it was judged, and is one now."""

    def __init__(self, where: Path) -> None:
        super().__init__(errno.ELOOP, f"{where} became a link after it was checked; nothing was done")


@contextmanager
def folder_at(path: Path, *, is_made: bool = False) -> Generator[int]:
    """A descriptor of the folder at a resolved path, to name files in. `is_made` makes what is missing of the path.

    Raises BecameLink, OSError.
    """
    fd, here = os.open("/", _STEP), Path("/")
    try:
        for name in path.parts[1:]:
            here /= name
            inner = _step(fd, name, here, is_made=is_made)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def listable(path: Path) -> int:
    """A descriptor of the folder at a resolved path, whose entries can be read; the caller closes it."""
    with folder_at(path) as folder:
        return os.open(".", _LIST, dir_fd=folder)


def file_at(path: Path) -> BufferedReader:
    """The file at a resolved path, from its first byte. Never waits. Raises NotReadable, BecameLink, OSError."""
    with folder_at(path.parent) as folder:
        return file_in(folder, path)


def file_in(folder: int, path: Path) -> BufferedReader:
    """The same, where the folder is open already."""
    name = path.name or "."
    # Looked at before it is opened: to open a device or a pipe can already act or wait.
    require_regular(_status(name, folder, path))
    try:
        file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
    except OSError as error:
        raise _explained(error, name, folder, path) from error
    try:
        require_regular(os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def require_regular(status: os.stat_result) -> None:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            raise NotReadable(name)


def _status(name: str, folder: int, path: Path) -> os.stat_result:
    status = os.lstat(name, dir_fd=folder)
    if stat.S_ISLNK(status.st_mode):
        raise BecameLink(path)
    return status


def _step(folder: int, name: str, where: Path, *, is_made: bool) -> int:
    try:
        return os.open(name, _STEP, dir_fd=folder)
    except FileNotFoundError:
        if not is_made:
            raise
    except OSError as error:
        raise _explained(error, name, folder, where) from error
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return _step(folder, name, where, is_made=False)


def _explained(error: OSError, name: str, folder: int, where: Path) -> OSError:
    """A link gives one error on one system and another on the next."""
    try:
        is_link = stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return error
    return BecameLink(where) if is_link else error
