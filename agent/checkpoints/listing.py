"""Which files of a workspace git does not ignore, asked in a way that starts no program a repository names (C05)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile

from msgspec import Struct

from agent.checkpoints.pace import Pace

# Not by PATH, in which a folder of the workspace may stand.
_PLACES = ("/usr/bin/git", "/usr/local/bin/git", "/opt/homebrew/bin/git", "/bin/git", "/run/current-system/sw/bin/git")
_SWITCHES = (
    "core.fsmonitor=false",  # a program
    "core.hooksPath=/dev/null",
    "submodule.recurse=false",
    "protocol.allow=never",  # an object that is missing is not fetched: that starts what the remote names
)
_LIST = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")
_FROM_PERSON = ("HOME", "XDG_CONFIG_HOME")  # where their own ignore rules are
_LOOK_S = 0.1


class Listed(Struct, frozen=True):
    """Paths below the root that were not known. `folders` are those that files are in, `repositories` what git leaves to other ones."""

    files: frozenset[str]
    folders: frozenset[str]
    repositories: frozenset[str]


class NoAnswer(Exception):
    """The root is no git work tree, or git can't say what is in it."""


class Question:
    """Put to git at once, and waited for where somebody wants to know: all that is known already needs no answer.

    The answer goes to a file, since git would wait at a full pipe.
    """

    def __init__(self, root: Path, environ: Mapping[str, str], known: Collection[str], pace: Pace) -> None:
        """Raises NoAnswer."""
        git = next((place for place in _PLACES if os.access(place, os.X_OK)), None)
        if git is None or not os.path.lexists(root / ".git"):
            raise NoAnswer
        self._known, self._pace = known, pace
        self._answer = TemporaryFile()  # noqa: SIM115 - closed with the question
        try:
            self._process = subprocess.Popen(
                [git, "--no-pager", *_switches(), *_LIST],
                cwd=root,
                env=_environment(root, environ),
                stdin=subprocess.DEVNULL,
                stdout=self._answer,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            self._answer.close()
            raise NoAnswer from error

    def __enter__(self) -> Question:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._answer.close()

    @cached_property
    def listed(self) -> Listed:
        """Raises NoAnswer, Cancelled."""
        while self._is_asking():
            self._pace.check()
        if self._process.returncode != 0:
            raise NoAnswer
        self._answer.seek(0)
        return _listed(self._answer.read(), self._known)

    def _is_asking(self) -> bool:
        try:
            self._process.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            return True
        return False


def _switches() -> list[str]:
    return [word for switch in _SWITCHES for word in ("-c", switch)]


def _environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    person = {name: environ[name] for name in _FROM_PERSON if name in environ}
    return person | {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C",
        "GIT_WORK_TREE": str(root),  # whatever core.worktree says
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _listed(raw: bytes, known: Collection[str]) -> Listed:
    files = frozenset(os.fsdecode(raw).split("\0")).difference(known, ("",))
    return Listed(files, _folders(files), frozenset(path[:-1] for path in files if path.endswith("/")))


def _folders(paths: Iterable[str]) -> frozenset[str]:
    folders: set[str] = set()
    for path in paths:
        folder = path.rstrip("/").rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)
