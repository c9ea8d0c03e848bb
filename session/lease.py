"""One turn at a time in a session, across the processes of one machine."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from session.errors import UnusableLease


class TurnLease:
    """The right to run a turn in one session: an exclusive lock on a file that holds nothing.

    The kernel gives it back when the process dies, however it dies. The file stays: removing it while another process
    has it open would let a third one lock a new file of the same name.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path, session_id: str) -> TurnLease | None:
        """Take the lease, or None when another turn has it. Makes `folder`; raises UnusableLease where none can lock.

        What holds the folder is never made: it would be the home of a profile that was deleted meanwhile.
        """
        path = folder / f"{session_id}.lock"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnusableLease(path=path, reason=error.strerror or error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            os.close(descriptor)
            raise UnusableLease(path=path, reason=error.strerror or error) from error
        return cls(descriptor)

    def release(self) -> None:
        """Give the lease back; a second time does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # A child forked this instant still holds a copy of the descriptor; closing ours alone would not unlock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)
