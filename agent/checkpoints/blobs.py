"""The contents of files, each once, under its SHA-256."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
import uuid
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

LEVEL = 1  # the first copy is waited for
PATIENCE_S = 2.0


class LostCopy(Exception):
    """The content is not in the store, or not what was put there."""


class StoreFull(Exception):
    """No more may be kept."""


class Keeps(Protocol):
    """Takes the content of a file and tells its SHA-256. Raises StoreFull or OSError."""

    def put(self, content: bytes) -> bytes: ...

    def has(self, digest: bytes) -> bool: ...


class OnlyLooks:
    """Keeps nothing."""

    def put(self, content: bytes) -> bytes:
        return hashlib.sha256(content).digest()

    def has(self, digest: bytes) -> bool:
        return True


class Blobs:
    """Files that are written aside and renamed, so that a kill leaves the whole of one or nothing.

    Synced one by one as long as they are few. A power cut among many can lose some: a read proves what it gives.
    """

    SYNCED = 32

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self._used_bytes: int | None = None
        self._unsynced = 0
        self._mark = uuid.uuid4().hex

    @property
    def used_bytes(self) -> int:
        if self._used_bytes is None:
            self._used_bytes = sum(size for _, size in self.all())
        return self._used_bytes

    def put(self, content: bytes) -> bytes:
        digest = hashlib.sha256(content).digest()
        if self.has(digest):
            return digest
        packed = zlib.compress(content, LEVEL)
        if self.used_bytes + len(packed) > self._most_bytes:
            raise StoreFull
        self._write(self._path(digest), packed)
        self._used_bytes = self.used_bytes + len(packed)
        return digest

    def has(self, digest: bytes) -> bool:
        try:
            # Empty: made just before the power was cut.
            return os.stat(self._path(digest)).st_size > 0  # noqa: PTH116
        except FileNotFoundError:
            return False

    def get(self, digest: bytes) -> bytes:
        """Raises LostCopy."""
        try:
            content = zlib.decompress(Path(self._path(digest)).read_bytes())
        except (OSError, zlib.error) as error:
            raise LostCopy from error
        if hashlib.sha256(content).digest() != digest:
            raise LostCopy
        return content

    def all(self) -> Iterator[tuple[bytes, int]]:
        """Digests and compressed sizes."""
        for path in self.folder.glob("??/*"):
            with suppress(OSError, ValueError):
                yield bytes.fromhex(path.parent.name + path.name), path.stat().st_size

    def drop(self, digests: Iterable[bytes]) -> None:
        for digest in digests:
            Path(self._path(digest)).unlink(missing_ok=True)
        for left in self.folder.glob("*.new"):
            left.unlink(missing_ok=True)  # by a process that was killed: whoever drops is alone
        self._used_bytes = None

    def begin(self) -> None:
        """What is put from now on belongs to one step."""
        self._unsynced = 0

    @contextmanager
    def shared(self) -> Generator[None]:
        """Nothing is dropped between a content that is put and the step that names it."""
        with self._locked() as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield

    @contextmanager
    def alone(self) -> Generator[bool]:
        """False where others went on putting for too long."""
        with self._locked() as descriptor:
            yield _is_locked(descriptor, time.monotonic() + PATIENCE_S)

    @contextmanager
    def _locked(self) -> Generator[int]:
        private_folder(self.folder)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _path(self, digest: bytes) -> str:
        name = digest.hex()
        return f"{self.folder}/{name[:2]}/{name[2:]}"  # text: a first copy makes 40,000 of them

    def _write(self, path: str, packed: bytes) -> None:
        fresh = f"{self.folder}/{self._mark}.new"  # one at a time
        self._unsynced += 1
        try:
            write_private(fresh, packed, is_synced=self._unsynced <= self.SYNCED)
            _into_place(fresh, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(fresh)  # noqa: PTH108
            raise


def private_folder(folder: Path) -> None:
    """Make it, and those it is in, for their owner only. Raises OSError."""
    if not folder.is_dir():
        private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_private(path: str, raw: bytes, *, is_synced: bool) -> None:
    """A new file for its owner only. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        written = 0
        while written < len(raw):
            written += os.write(descriptor, raw[written:] if written else raw)
        if is_synced:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _into_place(fresh: str, path: str) -> None:
    try:
        os.rename(fresh, path)  # noqa: PTH104
    except FileNotFoundError:
        Path(path).parent.mkdir(mode=0o700, exist_ok=True)
        os.rename(fresh, path)  # noqa: PTH104


def _is_locked(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        else:
            return True
