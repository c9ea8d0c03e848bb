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
    """`resume` names a session by id or title; `go_on` takes the session last worked in; `flags` are settings of this run.

    `mode` and `personality` are "" where the session keeps its own.
    """

    go_on: bool = False
    resume: str = ""
    model: str = ""
    cwd: str = ""
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    mode: str = ""
    personality: str = ""


class ChatOptions(InProfile, frozen=True):
    """One prompt without a screen; `-` reads it from stdin. `flags` are settings of this run.

    `has_stdin`: what stdin holds belongs behind the prompt. `as_events`: a line of JSON for each event, then the object
    of `as_json`. `mode` and `personality` are "" where the session keeps its own.
    """

    prompt: str
    has_stdin: bool = False
    images: tuple[str, ...] = ()
    model: str = ""
    cwd: str = ""
    session: str = ""
    as_json: bool = False
    as_events: bool = False
    quiet: bool = False
    timeout_s: float | None = None
    is_trusting: bool = False
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    mode: str = ""
    personality: str = ""


class SessionsOptions(InProfile, frozen=True, kw_only=True):
    """What the verbs of `hermes sessions` share; the rest of each stands in `tui/cli/sessions/options.py`."""

    as_json: bool = False


class LogOptions(InProfile, frozen=True):
    """`lines` is None for all of them; `since` is a Unix time; `level` is the least serious one shown."""

    lines: int | None
    follow: bool = False
    since: float | None = None
    level: str = ""


class WireLogOptions(InProfile, frozen=True):
    """`hermes logs wire`: the last `lines` requests, of one session where it is named."""

    lines: int
    session: str = ""
    as_json: bool = False


class ProviderOptions(InProfile, frozen=True):
    """`hermes provider check`: `name` is a provider or provider:model, "" for the one that answers now."""

    name: str = ""
    as_json: bool = False
    is_saving: bool = False
    yes: bool = False


class TrustOptions(InProfile, frozen=True):
    """`verb` is list, add or remove; without a folder it is the one we are in. `yes` answers the question."""

    verb: str
    folder: str = ""
    as_json: bool = False
    yes: bool = False


class ApprovalsOptions(InProfile, frozen=True):
    """`verb` is test (one command, or lines of JSON from standard input), list or revoke (one rule)."""

    command: str = ""
    cwd: str = ""
    as_json: bool = False
    from_stdin: bool = False
    verb: str = "test"
    rule: str = ""


class ConfigOptions(InProfile, frozen=True):
    """`verb` is get, set, unset, list, path, edit or check; those that take no key or value leave it ""."""

    verb: str
    key: str = ""
    value: str = ""
    as_json: bool = False


class DoctorOptions(InProfile, frozen=True):
    """`offline` asks no server; `terminal` is about the terminal alone."""

    as_json: bool = False
    offline: bool = False
    terminal: bool = False


class ProcessesOptions(InProfile, frozen=True):
    """`verb` is list or stop."""

    verb: str = "list"
    as_json: bool = False


class PromptOptions(InProfile, frozen=True):
    """`verb` is show or size; without a `session` it is about a new one in the folder `cwd`."""

    verb: str
    session: str = ""
    personality: str = ""
    cwd: str = ""
    as_json: bool = False


class SecretsOptions(InProfile, frozen=True):
    """`verb` is list, set or unset. `surplus`: something was written behind the name, which is not kept."""

    verb: str
    name: str = ""
    as_json: bool = False
    surplus: bool = False


class CompletionOptions(InProfile, frozen=True):
    """`shell` is bash, zsh or fish."""

    shell: str


class ProfileOptions(InProfile, frozen=True):
    """`verb` is what to do with the profiles that `names` names, in the order of the command line."""

    verb: str
    names: tuple[str, ...] = ()
    as_json: bool = False
    yes: bool = False


class ModelOptions(InProfile, frozen=True):
    """`name` is a model to save, or a provider to ask for its models; "" for none."""

    verb: str
    name: str = ""
    as_json: bool = False


class CommandsOptions(InProfile, frozen=True):
    as_json: bool = False


Options = (
    TuiOptions
    | ModelOptions
    | CommandsOptions
    | ChatOptions
    | SessionsOptions
    | LogOptions
    | WireLogOptions
    | ProviderOptions
    | TrustOptions
    | ApprovalsOptions
    | ConfigOptions
    | DoctorOptions
    | ProcessesOptions
    | ProfileOptions
    | CompletionOptions
    | PromptOptions
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
