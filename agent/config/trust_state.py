"""Which files of which folders a person trusts, as it is kept: one small JSON file in the home."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, ValidationError, convert, field, to_builtins

from agent.config.files import NotReadable, read_text
from agent.config.locked_file import locked, replace_file
from session.errors import UserError

VERSION = 1


class UnreadableTrust(UserError):
    """The record of trusted folders is there but can't be used; it is never written over."""

    sentence = (
        "The record of trusted folders {path} can't be used: {why}. No project is trusted and the record stays "
        "as it is; move it away to begin a new one."
    )


class TrustedFolder(Struct, frozen=True):
    """Since when a folder is trusted (Unix time), and the SHA-256 of each of its files, by path in it."""

    since: float
    files: Mapping[str, str]


class State(Struct, frozen=True):
    """`folders` are known by their real paths."""

    version: int = VERSION
    folders: Mapping[str, TrustedFolder] = field(default_factory=dict[str, TrustedFolder])


class TrustState:
    """The file, for its owner only. `shown` is how a person knows it."""

    def __init__(self, path: Path, shown: str) -> None:
        self._path = path
        self._shown = shown

    def read(self) -> State:
        """What is recorded, nothing where there is no file. Raises UnreadableTrust."""
        try:
            text = read_text(self._path)
        except NotReadable as error:
            raise self._unreadable(str(error)) from error
        if text is None:
            return State()
        if self._may_others_write():
            why = f"other users of this machine may write it; look through it, then run: chmod 600 {self._shown}"
            raise self._unreadable(why)
        return self._parsed(text)

    @contextmanager
    def changing(self) -> Generator[dict[str, TrustedFolder], None, None]:
        """The recorded folders, to be changed; written at the end. Raises UnreadableTrust, NotSaved."""
        with locked(self._path, self._shown):
            recorded = self.read().folders
            folders = dict(recorded)
            yield folders
            if folders != recorded:
                replace_file(self._path, _written(State(folders=folders)), self._shown)

    # --- inside

    def _parsed(self, text: str) -> State:
        import json

        try:
            state = convert(json.loads(text), State)
        except (ValueError, ValidationError, RecursionError) as error:
            raise self._unreadable("it is damaged") from error
        if state.version != VERSION:
            raise self._unreadable("it was written by another version of hermes")
        return state

    def _may_others_write(self) -> bool:
        with suppress(FileNotFoundError):
            return bool(self._path.stat().st_mode & 0o022)
        return False

    def _unreadable(self, why: str) -> UnreadableTrust:
        return UnreadableTrust(path=self._shown, why=why)


def _written(state: State) -> bytes:
    # The name of a folder may be any bytes: as lone surrogates they pass through this JSON, and not through msgspec's.
    import json

    return json.dumps(to_builtins(state), indent=1, sort_keys=True).encode()
