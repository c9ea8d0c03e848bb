"""Writing the small text files of a home: one process at a time, and each file either the old one or the new one."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from session.errors import UserError

PATIENCE_S = 10.0  # a write takes milliseconds: whoever holds the lock for longer hangs
PAUSE_S = 0.02


class NotSaved(UserError):
    """A file could not be written. What stood there still stands there."""

    sentence = "{path} was not changed: {why}."


@contextmanager
def locked(path: Path, shown: str = "") -> Generator[None, None, None]:
    """Hold the right to change a file, against other processes and threads. Raises NotSaved.

    The lock is a file beside it that stays: removing it would let two processes lock two files of the same name.
    """
    name = shown or str(path)
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NotSaved(path=name, why=f"its folder can't be written ({_reason(error)})") from error
    try:
        _wait_for(descriptor, name)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, name: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                why = f"another hermes has been writing it for {PATIENCE_S:.0f} s; end that one and try again"
                raise NotSaved(path=name, why=why) from error
        except OSError as error:
            raise NotSaved(path=name, why=f"its folder has no file locks ({_reason(error)})") from error
        else:
            return
        time.sleep(PAUSE_S)


def replace_file(path: Path, raw: bytes, shown: str = "") -> None:
    """Put a whole new content in the place of a file, for its owner only, once it is on the disk. Raises NotSaved.

    Call it with the lock held. A link stays a link: what it leads to is replaced.
    """
    target = Path(os.path.realpath(path))
    fresh = target.with_name(f"{target.name}.new")
    try:
        with suppress(FileNotFoundError):
            fresh.unlink()  # left by a process that was killed
        _write(fresh, raw)
        fresh.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise NotSaved(path=shown or str(path), why=_reason(error)) from error


def _write(path: Path, raw: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)  # the umask may have taken away even what the owner needs
        file.write(raw)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
