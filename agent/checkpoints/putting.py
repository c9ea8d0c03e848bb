"""Changing files of a workspace back: each is the old one or the new one, whenever the process is killed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress

from msgspec import Struct

from agent.checkpoints.blobs import Blobs, LostCopy, OnlyLooks
from agent.checkpoints.coverage import DRAFT
from agent.checkpoints.entry import Entry, Kind, is_same
from agent.checkpoints.limits import Limits
from agent.checkpoints.observed import observe_key, settle
from agent.checkpoints.pace import Pace
from agent.checkpoints.plan import CHANGED_SINCE, LOST, STOPPED, PlannedFile
from agent.checkpoints.tree import FOLDER, Tree, parents

_SYNCED = 256  # files that are synced one by one; a power cut can cost the last of more, and they can be restored again
_OWNER = 0o700
_NEW_FOLDER = 0o755
HOLDS_MORE = "it holds files that are not covered, so the folder stays"
GONE = "its copy is missing from the store of checkpoints, or damaged"


class NotRestored(Struct, frozen=True):
    """`why` is a part of a sentence: "<path>: <why>"."""

    path: str
    why: str


class Putting:
    """One restore. `failed` says why of each path that is not as planned."""

    def __init__(self, tree: Tree, blobs: Blobs, limits: Limits, pace: Pace) -> None:
        self._tree, self._blobs, self._limits, self._pace = tree, blobs, limits, pace
        self._written = 0
        self.failed: dict[str, str] = {}

    def run(self, files: Iterable[PlannedFile]) -> None:
        """Files before the folders that they are in when something goes, after them when it comes.

        A pace that is stopped ends it between two paths: what was not reached is as it was, and in `failed`.
        """
        ordered = sorted(files, key=_path)
        changed = [file for file in ordered if _is_folder(file.now) and _is_folder(file.then)]
        made = [file for file in ordered if _is_folder(file.then) and not _is_folder(file.now)]
        emptied = [file for file in ordered if _is_folder(file.now) and not _is_folder(file.then)]
        gone = [file for file in ordered if _is_file(file.now) and not _is_file(file.then)]
        put = [file for file in ordered if _is_file(file.then)]
        self._pace.total = sum(map(len, (gone, emptied, made, put)))
        self._each([*changed, *emptied], self._open_up)
        self._each_or_stop(gone, self._remove)
        self._each_or_stop(reversed(emptied), self._remove_folder)
        self._each_or_stop(made, self._make_folder)
        self._each_or_stop(put, self._put)
        self._each(reversed([*changed, *made]), self._set_mode)
        self._close_again(file for file in reversed(emptied) if file.path in self.failed)

    @property
    def is_stopped(self) -> bool:
        return STOPPED in self.failed.values()

    def _each_or_stop(self, files: Iterable[PlannedFile], act: Callable[[PlannedFile], None]) -> None:
        for file in files:
            if self._pace.is_stopped:
                self.failed.setdefault(file.path, STOPPED)
                continue
            self._each([file], act)
            self._pace.done += 1

    def _each(self, files: Iterable[PlannedFile], act: Callable[[PlannedFile], None]) -> None:
        for file in files:
            if file.path in self.failed:
                continue
            try:
                act(file)
            except LostCopy:
                self.failed[file.path] = GONE
            except OSError as error:
                self.failed[file.path] = (error.strerror or type(error).__name__).lower()

    def _put(self, file: PlannedFile) -> None:
        assert file.then is not None
        if file.then.kind is Kind.OPAQUE:
            self.failed[file.path] = LOST
            return
        content = self._blobs.get(file.then.content) if file.then.kind is Kind.FILE else file.then.content
        self._make_parents(file.path)
        with self._tree.parent(file.path) as (folder, name):
            draft = f"{DRAFT[0]}{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}{DRAFT[1]}"
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)  # left by a restore that was killed
            try:
                self._write(folder, draft, file.then, content)
                if self._is_still(file):
                    os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=folder)

    def _write(self, folder: int, name: str, entry: Entry, content: bytes) -> None:
        if entry.kind is Kind.LINK:
            os.symlink(content, os.fsencode(name), dir_fd=folder)
            return
        self._written += 1
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), entry.mode)
            if self._written <= _SYNCED:
                os.fsync(file.fileno())

    def _is_still(self, file: PlannedFile) -> bool:
        """Whether what stands there is what was planned with; otherwise that is noted."""
        now = None if _is_folder(file.now) else file.now  # a folder in the place of the file is removed by now
        seen = observe_key(self._tree, file.path, now, OnlyLooks(), self._limits)
        if is_same(settle(self._tree, file.path, seen, now), now):
            return True
        self.failed[file.path] = CHANGED_SINCE
        return False

    def _remove(self, file: PlannedFile) -> None:
        if self._is_still(file):
            with self._tree.parent(file.path) as (folder, name):
                os.unlink(name, dir_fd=folder)

    def _remove_folder(self, file: PlannedFile) -> None:
        try:
            with self._tree.parent(file.path) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                self.failed[file.path] = HOLDS_MORE
            elif error.errno != errno.ENOENT:
                raise

    def _make_folder(self, file: PlannedFile) -> None:
        assert file.then is not None
        self._make_parents(file.path)
        self._mkdir(file.path, file.then.mode | _OWNER)

    def _make_parents(self, path: str) -> None:
        """Folders that are not in the plan, and missing all the same."""
        if self._has_parent(path):
            return
        for folder in parents(path):
            self._mkdir(folder, _NEW_FOLDER)

    def _has_parent(self, path: str) -> bool:
        try:
            with self._tree.parent(path):
                return True
        except FileNotFoundError:
            return False

    def _mkdir(self, path: str, mode: int) -> None:
        with self._tree.parent(path) as (folder, name), suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=folder)

    def _open_up(self, file: PlannedFile) -> None:
        """What is to be put into a folder, or taken out, needs a way in, whatever the session made of its mode."""
        assert file.now is not None
        self._chmod(file.path, file.now.mode | _OWNER)

    def _close_again(self, files: Iterable[PlannedFile]) -> None:
        """Folders that stay are as they were before they were opened up."""
        for file in files:
            with suppress(OSError):
                if file.now is not None:
                    self._chmod(file.path, file.now.mode)

    def _set_mode(self, file: PlannedFile) -> None:
        assert file.then is not None
        self._chmod(file.path, file.then.mode)

    def _chmod(self, path: str, mode: int) -> None:
        with self._tree.parent(path) as (folder, name):
            status = os.lstat(name, dir_fd=folder)
            if not stat.S_ISDIR(status.st_mode) or stat.S_IMODE(status.st_mode) == mode:
                return
            try:
                descriptor = os.open(name, FOLDER, dir_fd=folder)
            except PermissionError:
                os.chmod(name, mode, dir_fd=folder)  # a folder without a way in can only be named
                return
            try:
                os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)


def _path(file: PlannedFile) -> str:
    return file.path


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind is Kind.FOLDER


def _is_file(entry: Entry | None) -> bool:
    return entry is not None and entry.kind is not Kind.FOLDER
