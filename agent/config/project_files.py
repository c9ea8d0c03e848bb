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
HOOKS = f"{FOLDER}/hooks"
RULES = ".cursor/rules"
INSTRUCTIONS = (".hermes.md", "HERMES.md", "AGENTS.md", "CLAUDE.md", ".cursorrules")

# What lies beyond is never listed, so never trusted.
MOST_LISTED = 100  # files of one kind
MOST_SCANNED = 10_000  # names in a folder
DEEPEST_HOOK = 2  # a hook is a file in the folder of hooks, or a folder of files there

_INNER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A named pipe would otherwise wait for a writer for ever, and a terminal become ours.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Kind(StrEnum):
    """What a file of a project is for."""

    CONFIG = "config"
    ENV = "env"
    PERSONALITY = "personality"
    HOOK = "hook"
    INSTRUCTIONS = "instructions"


# What this version reads of a project. The others are listed and recorded with them, and nothing comes of them yet.
USED = frozenset({Kind.CONFIG, Kind.INSTRUCTIONS})


def acting_files(root: Path) -> Iterator[tuple[str, Kind]]:
    """The files that could act, present or not, as paths in the project."""
    if not is_a_home(root / FOLDER):
        yield CONFIG, Kind.CONFIG
        yield ENV, Kind.ENV
        yield from ((name, Kind.PERSONALITY) for name in _listed(root, PERSONALITIES, ".md"))
        yield from ((name, Kind.HOOK) for name in _listed(root, HOOKS, "", DEEPEST_HOOK))
    yield from ((name, Kind.INSTRUCTIONS) for name in (*INSTRUCTIONS, *_listed(root, RULES, ".mdc")))


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


def _listed(root: Path, place: str, ending: str, depth: int = 1) -> list[str]:
    """The paths of the files in a folder of the project, by name. One that leads out of the project has none."""
    if not Path(os.path.realpath(root / place)).is_relative_to(root):
        return []
    found = (path for path in _below(root, place, depth) if path.endswith(ending))
    return list(islice(found, MOST_LISTED))


def _below(root: Path, place: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(root / place) as entries:
            found = sorted(islice(entries, MOST_SCANNED), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        path = f"{place}/{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            yield path
        elif depth > 1:
            yield from _below(root, path, depth - 1)
