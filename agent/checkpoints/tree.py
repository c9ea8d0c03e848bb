"""Reaching a path one name after another, so that no link leads anywhere else."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agent.tools.opened import folder_at

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Tree:
    """The files below a root. A path is relative to it, or absolute for a file that lies elsewhere."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def key(self, path: Path) -> str:
        """The path as it is recorded: a workspace may move, what lies outside of it does not move along."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def shown(self, key: str) -> Path:
        return self.root / key

    @contextmanager
    def parent(self, key: str) -> Generator[tuple[int, str]]:
        """The open folder that a path is in, and its name there. Raises OSError, where a link is on the way too."""
        path = self.shown(key)
        if ".." in path.parts or not path.name:
            raise OSError(errno.EINVAL, "it is no plain path")
        with folder_at(path.parent) as folder:
            yield folder, path.name

    def status(self, key: str) -> os.stat_result | None:
        """None where nothing is there. Raises OSError where that can't be told."""
        try:
            with self.parent(key) as (folder, name):
                return os.lstat(name, dir_fd=folder)
        except OSError as error:
            if is_absence(error):
                return None
            raise


def is_absence(error: OSError) -> bool:
    """Nothing is there; also where a file or a link stands in the place of a folder on the way."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def parents(key: str) -> list[str]:
    """The folders that a path is in, outermost first."""
    parts = key.split("/")[:-1]
    return [joined for number in range(1, len(parts) + 1) if (joined := "/".join(parts[:number]))]
