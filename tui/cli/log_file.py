"""The log: `logs/hermes.log` in the home folder, for its owner only. Tracebacks go there and nowhere else."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from agent.config.home import Home, find_home
from agent.config.masking import Masking
from agent.config.secrets import Secrets
from agent.providers.registry import KEY_NAMES
from session.errors import UserError

FILE_BYTES = 2_000_000  # at start-up a larger log makes room for a new one; one older is kept
TAIL_BYTES = 1_000_000

log = logging.getLogger("hermes")


class UnusableLog(UserError):
    """The log can't be written."""

    sentence = "The log {path} can't be written ({why}). Correct that, or set HERMES_HOME to another folder."


class LogFile(Struct, frozen=True):
    """The open log of this process; `shown` is its path as a person writes it."""

    fd: int
    shown: str


def open_log(home: Home, mask: Callable[[str], str]) -> LogFile:
    """Send what is logged, and errors that nobody catches, to the log file. Raises UnusableLog."""
    path, shown = home.logs / "hermes.log", f"{home.shown}/logs/hermes.log"
    try:
        _make_room(path)
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UnusableLog(path=shown, why=error.strerror) from error
    stream = os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Masking(mask))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("agent", "session", "tui", "hermes"):
        logging.getLogger(name).setLevel(logging.INFO)
    logging.captureWarnings(True)
    _catch_strays()
    return LogFile(fd, shown)


def open_early(environ: Mapping[str, str], profile: str = "") -> None:
    """For an error that came before the profile was open: the log if it can be had, else nothing is written anywhere."""
    if logging.getLogger().handlers:
        return
    try:
        home = find_home(environ, profile)
        open_log(home, masking_unopened(home, environ).text)
    except UserError:
        logging.getLogger().addHandler(logging.NullHandler())


def masking_unopened(home: Home, environ: Mapping[str, str], key_names: Iterable[str] = KEY_NAMES) -> Masking:
    """What masks the keys of a profile that is not open: all of its .env, and what the environment names like a key."""
    from agent.config.dotenv_file import read_names
    from agent.config.scope import is_named_like_one

    names = {*key_names, *filter(is_named_like_one, environ)}
    return Secrets(read_names(home.env)[0], environ, names).masking


def masked_error(error: UserError, environ: Mapping[str, str], profile: str) -> str:
    """Its sentence, which may quote what was typed or stood in a file."""
    home = Home(Path(os.devnull), "")  # then there are no keys but those of the environment
    for name in ("", profile):
        with suppress(UserError):
            home = find_home(environ, name)
    return masking_unopened(home, environ).text(str(error))


class _Masking(logging.Formatter):
    """Secrets never reach the log, whatever an error message quotes."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        try:
            text = super().format(record)
        except (TypeError, ValueError, KeyError):  # else logging prints the arguments as they are on the terminal
            text = f"{record.levelname} {record.name}: {record.msg} {record.args}"
        return self._mask(text)


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a log, [] when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def _make_room(path: Path) -> None:
    try:
        if path.stat().st_size > FILE_BYTES:
            path.replace(path.with_suffix(".log.1"))
    except FileNotFoundError:
        return


def _catch_strays() -> None:
    """Errors in threads and destructors: Python would print them on the person's terminal."""

    def from_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            log.error("a thread failed", exc_info=args.exc_value)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        log.error("%s", args.err_msg or "an error was ignored", exc_info=args.exc_value)

    def uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        log.error("uncaught", exc_info=(kind, error, traceback))

    threading.excepthook, sys.unraisablehook, sys.excepthook = from_thread, unraisable, uncaught
