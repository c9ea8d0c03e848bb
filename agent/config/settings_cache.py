"""What was read from the settings last, so that a start with the same texts need not read them again."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from io import FileIO
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.config.settings import Loaded, Sources

LIMIT_BYTES = 8_000_000


class Remembered(Struct, frozen=True):
    """Settings and all that they were read from, and with."""

    reader: str
    sources: Sources
    loaded: Loaded


class SettingsCache:
    """One file, for its owner only. It holds for the very same sources and program, and otherwise says nothing.

    The texts themselves are compared, not their age: a file restored with an old date is still another file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, sources: Sources) -> Loaded | None:
        try:
            remembered = msgspec.json.decode(self._read(), type=Remembered)
        except (OSError, ValueError, RecursionError):  # msgspec's own errors are ValueErrors
            return None
        is_same = remembered.sources == sources and remembered.reader == _reader()
        return remembered.loaded if is_same else None

    def put(self, sources: Sources, loaded: Loaded) -> None:
        """Remember for the next start. Where that fails, it reads the files again."""
        with suppress(OSError, UnicodeEncodeError):
            raw = msgspec.json.encode(Remembered(_reader(), sources, loaded))
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._replace(raw)

    def _read(self) -> bytes:
        with FileIO(self._path, opener=_open_plain) as file:
            status = os.fstat(file.fileno())
            is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
            return (file.read(LIMIT_BYTES) or b"") if is_ours else b""

    def _replace(self, raw: bytes) -> None:
        # Named by hand: tempfile would cost a start half of what this file saves it.
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
            fresh.replace(self._path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


def _open_plain(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _reader() -> str:
    """What tells one state of the program that reads settings from another: the size and date of each of its files."""
    folder = Path(__file__).parent
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    found.append(("registry", (folder.parent / "providers" / "registry.py").stat()))
    return " ".join(f"{name}:{status.st_size}:{status.st_mtime_ns}" for name, status in sorted(found))
