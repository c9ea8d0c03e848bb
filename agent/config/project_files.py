"""The files that a project brings: where they are, and reading one of them once, bounded, never from outside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path

from agent.config.files import LIMIT_BYTES, NotReadable

FOLDER = ".hermes"
CONFIG = f"{FOLDER}/config.yaml"
ENV = f"{FOLDER}/.env"
PERSONALITIES = f"{FOLDER}/personalities"
INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", ".cursorrules")

MOST_PERSONALITIES = 100
MOST_SCANNED = 10_000  # names in a folder; what lies beyond is never listed, so never trusted

_INNER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A named pipe would otherwise wait for a writer for ever, and a terminal become ours.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Kind(StrEnum):
    """What a file of a project is for."""

    CONFIG = "config"
    ENV = "env"
    PERSONALITY = "personality"
    INSTRUCTIONS = "instructions"


# What this version reads of a project. The others are listed and recorded with them, and nothing comes of them yet.
USED = frozenset({Kind.CONFIG})


def acting_files(root: Path) -> Iterator[tuple[str, Kind]]:
    """The files that could act, present or not, as paths in the project."""
    if not is_a_home(root / FOLDER):
        yield CONFIG, Kind.CONFIG
        yield ENV, Kind.ENV
        yield from ((name, Kind.PERSONALITY) for name in _personalities(root))
    yield from ((name, Kind.INSTRUCTIONS) for name in INSTRUCTIONS)


def is_a_home(folder: Path) -> bool:
    """Whether a `.hermes` is somebody's whole home, as hermes-agent keeps it in the personal folder, and no project's."""
    return (folder / "state.db").exists()


def read_once(root: Path, relative: str) -> bytes | None:
    """The bytes of a file, None where there is none. Raises NotReadable.

    `root` is a real path. A link is followed where it stays in the project; from there on no part of the way may be a
    link, so that one swapped in meanwhile leads nowhere.
    """
    real = Path(os.path.realpath(root / relative))
    if not real.is_relative_to(root) or real == root:
        raise NotReadable("it leads out of the project; put the file itself there")
    try:
        with os.fdopen(_open(root, real.relative_to(root).parts), "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise NotReadable("it is not a regular file")
            raw = file.read(LIMIT_BYTES + 1) or b""
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise NotReadable("it is a folder") from error
    except (OSError, ValueError) as error:
        raise NotReadable(f"it can't be read ({getattr(error, 'strerror', '') or 'its name is not usable'})") from error
    if len(raw) > LIMIT_BYTES:
        raise NotReadable(f"it is larger than {LIMIT_BYTES:,} bytes")
    return raw


def decoded(raw: bytes) -> str:
    """The text of a file without a byte order mark (T19). Raises NotReadable."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotReadable("it is not UTF-8 text") from error


def _open(root: Path, parts: Sequence[str]) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in parts[:-1]:
            inner = os.open(name, _INNER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _personalities(root: Path) -> list[str]:
    """Their paths by name. A folder that leads out of the project has none."""
    folder = Path(os.path.realpath(root / PERSONALITIES))
    if not folder.is_relative_to(root):
        return []
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_SCANNED)]
    except OSError:
        return []
    shown = sorted(name for name in names if name.endswith(".md") and not name.startswith("."))
    return [f"{PERSONALITIES}/{name}" for name in shown[:MOST_PERSONALITIES]]
