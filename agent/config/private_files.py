"""What a home holds is for its owner only: what is open to others is closed where it is ours, and told where it is not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from agent.config.home import Home
from agent.config.problem import Problem

OTHERS = 0o077


def tighten_home(home: Home) -> tuple[Problem, ...]:
    """Close the folders of a home and the files in them to others; what could not be closed is a remark."""
    found: list[Problem] = []
    for path in open_to_others(home):
        if not _close(path):
            shown = f"{home.shown}/{path.relative_to(home.root)}".removesuffix("/.")
            found.append(_left_open(path, shown))
    return tuple(found)


def open_to_others(home: Home) -> Iterator[Path]:
    """The home and what is in it, as far as others have any access to it. Looks only; .env is left to `tighten_env`."""
    return (path for path in _private(home) if is_open(path))


def is_open(path: Path) -> bool:
    """False also where there is nothing."""
    return bool(_mode(path) & OTHERS)


def tighten_env(path: Path, shown: str) -> tuple[Problem, ...]:
    """The same for a .env. That it was open is worth knowing: the keys in it may have been read."""
    if not path.is_file() or not is_open(path):
        return ()
    if not _close(path):
        return (_left_open(path, shown),)
    text = (
        "other users of this machine could read it until now; it is closed to them, but its keys may be known to them."
    )
    return (Problem(shown, text, is_remark=True),)


def _private(home: Home) -> Iterator[Path]:
    yield from (home.root, home.logs, home.locks, home.outputs, home.config)
    # SQLite gives these the mode of the database, but only when it makes them.
    yield from (home.db.with_name(f"{home.db.name}{end}") for end in ("", "-wal", "-shm", "-journal"))
    yield from home.logs.glob("*.log*")


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0  # not there, or out of reach, which is closed enough


def _close(path: Path) -> bool:
    """False where it could not be done, is not ours to do, or would shut out others from a folder that is not just ours."""
    try:
        found = path.stat()
        if found.st_uid != os.geteuid() or _is_shared(path, found.st_mode):
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
    except OSError:
        return False
    return not _mode(path) & OTHERS  # a file system without modes accepts a change and does nothing


def _is_shared(path: Path, mode: int) -> bool:
    """/tmp, or a folder that holds more than a home, such as a person's own."""
    return path.is_dir() and bool(mode & stat.S_ISVTX or (path / ".profile").exists() or (path / "etc").exists())


def _left_open(path: Path, shown: str) -> Problem:
    wanted = "700" if path.is_dir() else "600"
    return Problem(shown, f"other users of this machine can read it; run: chmod {wanted} {shown}", is_remark=True)
