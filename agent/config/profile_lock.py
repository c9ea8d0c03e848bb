"""Who has a profile open: what keeps another process from renaming or deleting it meanwhile."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager

from agent.config.home import Home, HomeUnusable
from session.errors import UserError

LOCK = "profile.lock"
PATIENCE_S, LOOK_S = 2.0, 0.01  # two that start at once are in each other's way for a moment
_BUSY = (errno.EAGAIN, errno.EACCES)


class ProfileOpen(UserError):
    """Another process has the profile open."""

    sentence = "The profile {name} is open in a running hermes ({holders}). Leave it there, then try again."


class ProfileMoving(UserError):
    """The profile is being renamed or deleted at this very moment."""

    sentence = "The profile {name} is just being renamed or deleted. Try again in a moment."


class ProfileLock:
    """A share in an open profile, given back by `release` or by the kernel when the process dies, however it dies.

    Any number of processes have a share, each writes its number into the file; whoever wants to move the profile needs
    the whole lock. The file moves and goes with the folder.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def share(cls, home: Home) -> ProfileLock:
        """Raises ProfileMoving, ProfileDeleted or HomeUnusable."""
        descriptor = _open(home)
        try:
            if _lock(descriptor, fcntl.LOCK_EX, home):
                os.ftruncate(descriptor, 0)  # nobody else has it: what stands in it is of the dead
            _check_share(descriptor, home)
            os.write(descriptor, b"%d\n" % os.getpid())
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    @contextmanager
    def whole(self, home: Home) -> Generator[None, None, None]:
        """This share made the whole lock for a while. Raises ProfileOpen where others have shares."""
        assert self._descriptor is not None
        if not _lock(self._descriptor, fcntl.LOCK_EX, home):
            _check_share(self._descriptor, home)  # asking for the whole may have given up the share
            raise ProfileOpen(name=home.name, holders=_holders(self._descriptor))
        try:
            yield
        finally:
            _lock(self._descriptor, fcntl.LOCK_SH, home)

    def release(self) -> None:
        """A second time does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # A child forked this instant still holds a copy of the descriptor; closing ours alone would not unlock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


@contextmanager
def nobody_has(home: Home) -> Generator[None, None, None]:
    """The whole lock of a profile that this process has not open. Raises ProfileOpen."""
    descriptor = _open(home)
    try:
        if not _lock(descriptor, fcntl.LOCK_EX, home):
            raise ProfileOpen(name=home.name, holders=_holders(descriptor))
        yield
    finally:
        os.close(descriptor)


def _open(home: Home) -> int:
    home.create_folders()
    try:
        return os.open(home.locks / LOCK, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeUnusable(path=home.shown, why=(error.strerror or "unknown reason").lower()) from error


def _lock(descriptor: int, kind: int, home: Home) -> bool:
    """Whether the lock was free. Raises HomeUnusable where the file system knows no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise HomeUnusable(path=home.shown, why=f"it can't be locked: {error.strerror}") from error
    return True


def _check_share(descriptor: int, home: Home) -> None:
    """A share, in the file that is the profile's now: the folder may have moved since the file was opened."""
    deadline = time.monotonic() + PATIENCE_S
    while not _lock(descriptor, fcntl.LOCK_SH, home):
        if time.monotonic() >= deadline:
            raise ProfileMoving(name=home.name)
        time.sleep(LOOK_S)
    try:
        is_there = os.path.samestat(os.fstat(descriptor), (home.locks / LOCK).stat())
    except FileNotFoundError:
        is_there = False
    if not is_there:
        home.refuse_deleted()
        raise ProfileMoving(name=home.name)


def _holders(descriptor: int) -> str:
    numbers = {int(word) for word in os.pread(descriptor, 100_000, 0).split() if word.isdigit()}
    alive = sorted(number for number in numbers if _is_alive(number))
    return " and ".join(f"process {number}" for number in alive) or "its process is not known"


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
