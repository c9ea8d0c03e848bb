"""What a command was asked to do, as data. Apart from the parser, whose import bare `hermes` need not pay for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from session.errors import UserError


class NoSuchFolder(UserError):
    """--cwd names no folder."""

    sentence = "{path} is not a folder that can be opened. Name another one."


class FolderGone(UserError):
    """The folder in which hermes was started was removed (E11)."""

    sentence = "The folder you are in does not exist any more. Change to another one, or name one with --cwd."


class InProfile(Struct, frozen=True, kw_only=True):
    """What every command takes: `-p NAME`, "" for the profile in use."""

    profile: str = ""


class TuiOptions(InProfile, frozen=True):
    """`resume` is a session id; `go_on` takes the session last worked in; `flags` are settings of this run."""

    go_on: bool = False
    resume: str = ""
    model: str = ""
    cwd: str = ""
    flags: Mapping[str, str] = field(default_factory=dict[str, str])


class ChatOptions(InProfile, frozen=True):
    """One prompt without a screen; `-` reads it from stdin. `flags` are settings of this run."""

    prompt: str
    model: str = ""
    cwd: str = ""
    session: str = ""
    as_json: bool = False
    quiet: bool = False
    is_trusting: bool = False
    flags: Mapping[str, str] = field(default_factory=dict[str, str])


class ListOptions(InProfile, frozen=True):
    limit: int
    as_json: bool


class ExportOptions(InProfile, frozen=True):
    session: str


class LogOptions(InProfile, frozen=True):
    """`lines` is None for all of them; `since` is a Unix time; `level` is the least serious one shown."""

    lines: int | None
    follow: bool = False
    since: float | None = None
    level: str = ""


class TrustOptions(InProfile, frozen=True):
    """`verb` is list, add or remove; without a folder it is the one we are in. `yes` answers the question."""

    verb: str
    folder: str = ""
    as_json: bool = False
    yes: bool = False


class ConfigOptions(InProfile, frozen=True):
    """`verb` is get, set, unset, list, path, edit or check; those that take no key or value leave it ""."""

    verb: str
    key: str = ""
    value: str = ""
    as_json: bool = False


class DoctorOptions(InProfile, frozen=True):
    """`offline` asks no server."""

    as_json: bool = False
    offline: bool = False


class SecretsOptions(InProfile, frozen=True):
    """`verb` is list, set or unset. `surplus`: something was written behind the name, which is not kept."""

    verb: str
    name: str = ""
    as_json: bool = False
    surplus: bool = False


class ProfileOptions(InProfile, frozen=True):
    """`verb` is what to do with the profiles that `names` names, in the order of the command line."""

    verb: str
    names: tuple[str, ...] = ()
    as_json: bool = False
    yes: bool = False


Options = (
    TuiOptions
    | ChatOptions
    | ListOptions
    | ExportOptions
    | LogOptions
    | TrustOptions
    | ConfigOptions
    | DoctorOptions
    | ProfileOptions
    | SecretsOptions
)


def folder(cwd: str) -> Path:
    """The folder to work in, absolute. Raises NoSuchFolder, FolderGone."""
    try:
        here = Path.cwd()
    except OSError as error:
        if not Path(cwd).is_absolute():
            raise FolderGone from error
        here = Path("/")
    chosen = here / Path(cwd).expanduser() if cwd else here
    if not chosen.is_dir():
        raise NoSuchFolder(path=cwd)
    return chosen
