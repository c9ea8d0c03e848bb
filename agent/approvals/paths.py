"""What a path that a model wrote really means: resolved before anything is judged by it (C18, C19)."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent.tools.base import BadArguments, Workplace


def resolve(written: str, place: Workplace) -> Path:
    """The absolute path behind `~`, `file://`, `..` and symlinks; what does not exist yet hangs on the part that does.

    Relative paths start in the session's folder. Raises BadArguments for what is no path.
    """
    if not written:
        raise BadArguments("The path is empty.")
    if "\0" in written:
        raise BadArguments("The path holds a NUL character.")
    local = _from_url(written) if written.lower().startswith("file:") else written
    return real(place.cwd / _expand_home(local, place))


def real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def is_inside(path: Path, root: Path) -> bool:
    """Whether the path is the folder or below it, by real paths: `/ws-evil` is not in `/ws`, `/tmp` is `/private/tmp`."""
    return real(path).is_relative_to(real(root))


def _from_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise BadArguments(f"{url} is no file URL: {error}.") from error
    if parts.netloc not in ("", "localhost"):
        raise BadArguments(f"{url} names a file on another machine ({parts.netloc}).")
    path = unquote(parts.path)
    if not path or "\0" in path:
        raise BadArguments(f"{url} names no file.")
    return path


def _expand_home(path: str, place: Workplace) -> str:
    """Like a shell, by the home that commands get, which need not be the one of this process."""
    if not path.startswith("~"):
        return path
    name, slash, rest = path.partition("/")
    try:
        home = place.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir if name == "~" else _home_of(name[1:])
    except KeyError:
        return path
    return home + slash + rest


def _home_of(user: str) -> str:
    return pwd.getpwnam(user).pw_dir
