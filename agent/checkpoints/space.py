"""The room that checkpoints take: the oldest sessions make place, and nothing goes that a step still needs."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agent.checkpoints.blobs import Blobs, private_folder
from agent.checkpoints.entry import Entry
from agent.checkpoints.state import State
from agent.checkpoints.steps import Damaged, Newer, Steps, contents

log = logging.getLogger(__name__)

FULL = 0.9  # of the room, from which on place is made
AIM = 0.7
_HELD = "held"
_GONE = ".gone-"


class Space:
    """`checkpoints/sessions/<id>` holds steps, `checkpoints/contents` what files held."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._sessions = folder / "sessions"
        self._most_bytes = most_bytes
        self._tried_bytes = 0
        self.blobs = Blobs(folder / "contents", most_bytes)

    def session(self, session_id: str) -> Path:
        return self._sessions / session_id

    def keep_within(self, own: Path) -> None:
        """Drop the oldest sessions that nobody has open while there is too much."""
        used = self.blobs.used_bytes
        if used <= max(self._most_bytes * FULL, self._tried_bytes * 1.05):
            return
        with self.blobs.alone() as is_alone:
            if not is_alone:
                return
            for oldest in self._oldest_first(own):
                if self.blobs.used_bytes <= self._most_bytes * AIM:
                    break
                if _remove(oldest):
                    log.info("the checkpoints of session %s made place for others", oldest.name)
                    self._sweep()
        self._tried_bytes = self.blobs.used_bytes

    def forget(self, session_ids: Iterable[str]) -> list[Path]:
        """Remove the checkpoints of sessions and what only they needed; the folders that could not be removed."""
        folders = [folder for id_ in session_ids if (folder := self.session(id_)).exists()]
        if not folders:
            return []
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        with self.blobs.alone() as is_alone:
            if is_alone:
                self._sweep()
        return [folder for folder in folders if folder.exists()]

    def hints(self, root: Path, own: Path) -> dict[str, Entry]:
        """What the last other session in the same workspace saw of it."""
        for folder in reversed(self._oldest_first(own)):
            steps = Steps(folder)
            if steps.root() == os.fsencode(root):
                with suppress(OSError, Damaged, Newer):
                    return _entries(steps)
        return {}

    def _oldest_first(self, own: Path) -> list[Path]:
        try:
            folders = [path for path in self._sessions.iterdir() if path != own and not path.name.startswith(_GONE)]
        except FileNotFoundError:
            return []
        return sorted(folders, key=_changed_at)

    def _sweep(self) -> None:
        try:
            needed = set(self._needed())
        except Newer:
            log.warning("a newer hermes recorded checkpoints here: what it needs is not known, so nothing is removed")
            return
        self.blobs.drop([digest for digest, _ in self.blobs.all() if digest not in needed])

    def _needed(self) -> Iterator[bytes]:
        for folder in self._sessions.iterdir():
            if folder.name.startswith(_GONE):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            steps = Steps(folder)
            for number in steps.numbers():
                with suppress(FileNotFoundError, Damaged):  # nothing can be restored by a step that can't be read
                    yield from contents(steps.read(number))


def forget(folder: Path, session_ids: Iterable[str]) -> list[Path]:
    """Remove the checkpoints of sessions and what only they needed; the folders that could not be removed. Blocks."""
    return Space(folder, 0).forget(session_ids)


def hold(folder: Path) -> int:
    """Keep a session's checkpoints from making place for others until the descriptor is closed. Raises OSError."""
    private_folder(folder)
    descriptor = os.open(folder / _HELD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _remove(folder: Path) -> bool:
    """At once, as others see it. False where somebody has the session open."""
    try:
        descriptor = os.open(folder / _HELD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        gone = folder.with_name(f"{_GONE}{uuid.uuid4().hex}")
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _entries(steps: Steps) -> dict[str, Entry]:
    state = State()
    for number in steps.numbers():
        state.apply(steps.read(number))
    return state.entries


def _changed_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
