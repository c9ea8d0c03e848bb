"""Which file a command's name runs, and whether that is a program of the system, which nothing an agent does can swap."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from agent.tools.base import Workplace

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/proc", "/dev")


class Program(Struct, frozen=True):
    """`path` is the file behind all links, None where there is none. `why` says why it is not to be trusted, or ""."""

    path: Path | None
    why: str = ""


def find_program(name: str, environ: Mapping[str, str], cwd: Path) -> tuple[str | None, bool]:
    """The file that bash would run for a name, and whether that depends on the folder it stands in.

    Nothing is remembered: a file that becomes executable leaves its folder's time as it was.
    """
    if "/" in name:
        return (name, False) if name.startswith("/") else (str(cwd / name), True)
    path = environ.get("PATH")
    # Without a PATH, bash has a default of its own, which may hold the current folder.
    if not path or "EXECIGNORE" in environ:
        return None, True
    is_relative = False
    for folder in path.split(":"):
        is_relative |= not folder.startswith("/")
        file = f"{folder}/{name}" if folder.startswith("/") else str(cwd / folder / name)
        if _is_executable(file):
            return file, is_relative
    return None, is_relative


class Programs:
    """What names run in one place. The folders that the agent can write are looked up once."""

    def __init__(self, place: Workplace) -> None:
        self._environ = place.environ
        self._home = os.path.realpath(place.environ.get("HOME") or Path.home())
        apart = (place.root, place.cwd, place.outputs, tempfile.gettempdir(), *_TEMPORARY)
        self._apart = frozenset(f(os.fspath(each)) for each in apart for f in (os.path.normpath, os.path.realpath))
        self._known: dict[tuple[str, tuple[Path, ...]], Program] = {}

    def trusted(self, name: str, folders: tuple[Path, ...]) -> Program:
        """A program that lies outside of whatever the agent can write."""
        program = self.outside(name, folders)
        if program.why or program.path is None:
            return program
        if (
            _is_below(str(program.path), (self._home,))
            or _is_writable(program.path.parent)
            or _is_writable(program.path)
        ):
            return Program(program.path, f"runs {program.path}, which may be changed without asking")
        return program

    def outside(self, name: str, folders: tuple[Path, ...]) -> Program:
        """A program that is the same from every folder, and lies neither in the workspace nor among temporary files."""
        known = self._known.get((name, folders))
        if known is None:
            known = self._known[name, folders] = self._outside(name, folders)
        return known

    def _outside(self, name: str, folders: tuple[Path, ...]) -> Program:
        found = {find_program(name, self._environ, folder) for folder in folders}
        if len(found) != 1:
            return Program(None, f"runs another {name} from another folder")
        [(file, is_relative)] = found
        if file is None:
            return Program(None, f"runs {name}, which is not found")
        if is_relative:
            return Program(None, f"runs {name} from a folder that is not named in full")
        real = os.path.realpath(file)
        for written in (os.path.normpath(file), real):
            if _is_below(written, self._apart):
                return Program(Path(real), f"runs {written}, which the agent can write")
        return Program(Path(real))


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _is_executable(file: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(file).st_mode) and os.access(file, os.X_OK)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _is_writable(path: Path) -> bool:
    """By the one who runs hermes; root can write everything, so there it is by anybody else."""
    if os.geteuid():
        return os.access(path, os.W_OK)
    try:
        about = path.stat()
    except OSError:
        return True
    return (
        about.st_uid != 0
        or bool(about.st_mode & stat.S_IWOTH)
        or (about.st_gid != 0 and bool(about.st_mode & stat.S_IWGRP))
    )
