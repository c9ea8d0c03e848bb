"""Whether what a project brings may act: only files that a person was shown, and only as they were shown."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from time import time

from msgspec import Struct

from agent.config.files import NotReadable
from agent.config.home import Home
from agent.config.project_files import FOLDER, USED, Kind, acting_files, decoded, read_once
from agent.config.trust_state import State, TrustedFolder, TrustState, UnreadableTrust


class Standing(StrEnum):
    """How a file stands to what was recorded. Only a trusted one acts; a refused one can't be trusted."""

    TRUSTED = "trusted"
    NEW = "new"
    CHANGED = "changed"
    REFUSED = "refused"


class Acting(Struct, frozen=True):
    """A file of a project that would act. `path` is in the project; `refusal` says why it can't be read.

    `digest` and `text` are of the same one reading.
    """

    path: str
    kind: Kind
    standing: Standing
    digest: str = ""
    text: str = ""
    refusal: str = ""

    @property
    def is_used(self) -> bool:
        """Whether something comes of it in this version."""
        return self.kind in USED and self.standing is not Standing.REFUSED

    @property
    def does(self) -> tuple[str, ...]:
        """What it would do, a line each. Values of a .env are not among them."""
        # Reading YAML costs tens of milliseconds, which only a list of effects needs.
        from agent.config.project_effects import effects

        return (self.refusal,) if self.refusal else effects(self.path, self.kind, self.text)

    def __repr__(self) -> str:
        return f"Acting({self.path}, {self.standing})"  # the text may hold keys


class Trust:
    """The trusted folders of a person. A folder is known by its real path, alone: neither its parents nor its children.

    Every question looks at the files as they are now: a change makes a file inert at once.
    """

    def __init__(self, path: Path, shown: str = "") -> None:
        self._home = Path(os.path.realpath(path.parent))
        self._store = TrustState(path, shown or str(path))
        self._run: dict[str, TrustedFolder] = {}  # trusted until this process ends, recorded nowhere

    @classmethod
    def of(cls, home: Home) -> Trust:
        """What is recorded in a home: that of the profile hermes was started with, whichever profiles it opens."""
        return cls(home.root / "trust.json", f"{home.shown}/trust.json")

    @property
    def flaw(self) -> str:
        """Why nothing that is recorded counts, "" when it does."""
        try:
            self._store.read()
        except UnreadableTrust as error:
            return str(error)
        return ""

    def trusted_text(self, folder: Path, relative: str) -> str | None:
        """The text of a project's file, None unless it is there and trusted as it is."""
        root = _real(folder)
        if self._is_own_home(root, relative):
            return None
        try:
            raw = read_once(root, relative)
            if raw is None or self._files(root).get(relative) != _digest(raw):
                return None
            return decoded(raw)
        except NotReadable:
            return None

    def would_act(self, folder: Path) -> tuple[Acting, ...]:
        """Every file of the project that would act, as it is now."""
        root = _real(folder)
        recorded = self._files(root)
        found = (
            _acting(root, path, kind, recorded.get(path, ""))
            for path, kind in acting_files(root)
            if not self._is_own_home(root, path)
        )
        return tuple(acting for acting in found if acting is not None)

    def look_at(self, folder: Path, relative: str, kind: Kind) -> Acting | None:
        """One file of the project as it is now, None where there is none."""
        root = _real(folder)
        if self._is_own_home(root, relative):
            return None
        return _acting(root, relative, kind, self._files(root).get(relative, ""))

    def ignored(self, folder: Path) -> str:
        """One sentence when files would act but for want of trust, "" when none would."""
        untrusted = (Standing.NEW, Standing.CHANGED)
        count = sum(acting.is_used and acting.standing in untrusted for acting in self.would_act(folder))
        if not count:
            return ""
        files, are = ("1 file", "it is") if count == 1 else (f"{count} files", "they are")
        return f"This folder brings {files} that would act; {are} ignored. See /trust, or hermes trust add in a shell."

    def add(self, folder: Path, shown: Iterable[Acting] | None = None) -> None:
        """Trust the files that were shown, as they were shown; without `shown`, as they are now.

        Raises UnreadableTrust, NotSaved.
        """
        root = _real(folder)
        entry = _entry(self.would_act(root) if shown is None else shown)
        with self._store.changing() as folders:
            folders[str(root)] = entry

    def add_for_this_run(self, folder: Path) -> tuple[Acting, ...]:
        """Trust what is there now, in this process alone; what that is."""
        root = _real(folder)
        acting = tuple(item for item in self.would_act(root) if item.standing is not Standing.REFUSED)
        self._run[str(root)] = _entry(acting)
        return acting

    def remove(self, folder: Path) -> bool:
        """Trust a folder no more. False when it was not trusted. Raises UnreadableTrust, NotSaved."""
        root = str(_real(folder))
        with self._store.changing() as folders:
            return folders.pop(root, None) is not None

    def listing(self) -> dict[Path, TrustedFolder]:
        """The trusted folders by path. Raises UnreadableTrust."""
        return {Path(path): entry for path, entry in sorted(self._store.read().folders.items())}

    # --- inside

    def _files(self, root: Path) -> dict[str, str]:
        try:
            state = self._store.read()
        except UnreadableTrust:
            state = State()
        entries = (folders.get(str(root)) for folders in (state.folders, self._run))
        return {path: digest for entry in entries if entry is not None for path, digest in entry.files.items()}

    def _is_own_home(self, root: Path, relative: str) -> bool:
        """With HERMES_HOME=PROJECT/.hermes the files in there are the person's own, and read as such."""
        return relative.startswith(f"{FOLDER}/") and Path(os.path.realpath(root / FOLDER)) == self._home


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def _entry(shown: Iterable[Acting]) -> TrustedFolder:
    return TrustedFolder(time(), {acting.path: acting.digest for acting in shown if acting.digest})


def _acting(root: Path, path: str, kind: Kind, recorded: str) -> Acting | None:
    try:
        raw = read_once(root, path)
        if raw is None:
            return None
        text, digest = decoded(raw), _digest(raw)
    except NotReadable as error:
        return Acting(path, kind, Standing.REFUSED, refusal=f"is never read: {error}")
    standing = Standing.TRUSTED if recorded == digest else Standing.CHANGED if recorded else Standing.NEW
    return Acting(path, kind, standing, digest, text)
