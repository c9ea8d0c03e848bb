"""What a command was asked to do, as data. Apart from the parser, whose import bare `hermes` need not pay for."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from session.errors import UserError


class NoSuchFolder(UserError):
    """--cwd names no folder."""

    sentence = "{path} is not a folder that can be opened. Give --cwd another one."


class FolderGone(UserError):
    """The folder in which hermes was started was removed (E11)."""

    sentence = "The folder you are in does not exist any more. Change to another one, or name one with --cwd."


class TuiOptions(Struct, frozen=True):
    """`resume` is a session id; `go_on` takes the session last worked in."""

    go_on: bool = False
    resume: str = ""
    model: str = ""
    cwd: str = ""


class ChatOptions(Struct, frozen=True):
    """One prompt without a screen; `-` reads it from stdin."""

    prompt: str
    model: str = ""
    cwd: str = ""
    session: str = ""
    as_json: bool = False
    quiet: bool = False


class ListOptions(Struct, frozen=True):
    limit: int
    as_json: bool


class ExportOptions(Struct, frozen=True):
    session: str


class LogOptions(Struct, frozen=True):
    lines: int


Options = TuiOptions | ChatOptions | ListOptions | ExportOptions | LogOptions


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
