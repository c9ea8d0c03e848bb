"""From a command line to its command, and from whatever goes wrong to one sentence and an exit code."""

from __future__ import annotations

import os
from collections.abc import Mapping

from session.errors import UserError
from tui.cli.console import open_standard_files, remark
from tui.cli.options import (
    ChatOptions,
    ConfigOptions,
    DoctorOptions,
    ExportOptions,
    ListOptions,
    LogOptions,
    Options,
    ProfileOptions,
    SecretsOptions,
    TrustOptions,
    TuiOptions,
)
from tui.ending import Asked

USAGE, FAILED = 2, 1


def dispatch(arguments: list[str]) -> int:
    """Run one command; returns the exit code. No traceback leaves this function."""
    open_standard_files()
    try:
        options = _parsed(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    environ = dict(os.environ)  # as it was given to us: it is handed on to the programs that tools start
    try:
        return _run(options, environ)
    except Asked as asked:
        return asked.exit_code
    except UserError as error:
        remark(f"hermes: {error}")
        return FAILED
    except Exception as error:  # noqa: BLE001 - the one place for what nothing foresaw
        remark(f"hermes: {_unforeseen(error, options.profile)}")
        return FAILED


def _parsed(arguments: list[str]) -> Options:
    if not arguments:
        return TuiOptions()
    from tui.cli.arguments import parse

    return parse(arguments)


def _run(options: Options, environ: Mapping[str, str]) -> int:
    match options:
        case TuiOptions():
            _set_textual_up()
            from tui.cli.tui import run_tui

            return run_tui(options, environ)
        case ChatOptions():
            from tui.cli.chat import run_chat

            return run_chat(options, environ)
        case ListOptions() | ExportOptions():
            from tui.cli.sessions import run_sessions

            return run_sessions(options, environ)
        case TrustOptions():
            from tui.cli.trust import run_trust

            return run_trust(options, environ)
        case ConfigOptions():
            from tui.cli.config import run_config

            return run_config(options, environ)
        case DoctorOptions():
            from tui.cli.doctor import run_doctor

            return run_doctor(options, environ)
        case ProfileOptions():
            from tui.cli.profile import run_profile

            return run_profile(options, environ)
        case SecretsOptions():
            from tui.cli.secrets import run_secrets

            return run_secrets(options, environ)
        case LogOptions():
            from tui.cli.logs import run_logs

            return run_logs(options, environ)


def _set_textual_up() -> None:
    """Textual reads these once, when it is imported: keys answered at 120 Hz while an answer streams, nothing glides."""
    os.environ.setdefault("TEXTUAL_FPS", "120")
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")


def _unforeseen(error: Exception, profile: str) -> str:
    """Log the traceback; returns the sentence about it."""
    from tui.cli.log_file import log, open_early

    open_early(os.environ, profile)
    log.error("hermes failed", exc_info=error)
    return f"hermes ended because of an error in it ({type(error).__name__}). What is stored is safe; `hermes logs` has the details."
