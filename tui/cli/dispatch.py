"""From a command line to its command, and from whatever goes wrong to one sentence and an exit code."""

from __future__ import annotations

import os
from collections.abc import Mapping

from session.errors import UserError
from tui.cli.console import loss, mistake, open_standard_files, remark
from tui.cli.options import (
    ApprovalsOptions,
    ChatOptions,
    CommandsOptions,
    CompletionOptions,
    ConfigOptions,
    DoctorOptions,
    LogOptions,
    ModelOptions,
    Options,
    ProcessesOptions,
    ProfileOptions,
    PromptOptions,
    ProviderOptions,
    SecretsOptions,
    SessionsOptions,
    TrustOptions,
    TuiOptions,
    WireLogOptions,
)

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
        code = _run(options, environ)
        if not loss():
            return code
        remark(f"hermes: The answer could not be written: {loss()}. What came out of it is not whole.")
        return code or FAILED
    except UserError as error:
        from tui.cli.log_file import masked_error

        mistake(masked_error(error, environ, options.profile), as_json=_as_json(options))
        return FAILED
    except Exception as error:  # noqa: BLE001 - the one place for what nothing foresaw
        mistake(_unforeseen(error, options.profile), as_json=_as_json(options))
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
        case SessionsOptions():
            from tui.cli.sessions.command import run_sessions

            return run_sessions(options, environ)
        case TrustOptions():
            from tui.cli.trust import run_trust

            return run_trust(options, environ)
        case ApprovalsOptions():
            from tui.cli.approvals import run_approvals

            return run_approvals(options, environ)
        case ConfigOptions():
            from tui.cli.config import run_config

            return run_config(options, environ)
        case DoctorOptions():
            from tui.cli.doctor import run_doctor

            return run_doctor(options, environ)
        case ProcessesOptions():
            from tui.cli.processes import run_processes

            return run_processes(options, environ)
        case CompletionOptions():
            from tui.cli.completion import run_completion

            return run_completion(options)
        case ProfileOptions():
            from tui.cli.profile import run_profile

            return run_profile(options, environ)
        case ModelOptions():
            from tui.cli.model import run_model

            return run_model(options, environ)
        case CommandsOptions():
            from tui.cli.commands import run_commands

            return run_commands(options)
        case PromptOptions():
            from tui.cli.prompt import run_prompt

            return run_prompt(options, environ)
        case SecretsOptions():
            from tui.cli.secrets import run_secrets

            return run_secrets(options, environ)
        case LogOptions():
            from tui.cli.logs import run_logs

            return run_logs(options, environ)
        case WireLogOptions():
            from tui.cli.wire_log import run_wire_log

            return run_wire_log(options, environ)
        case ProviderOptions():
            from tui.cli.provider import run_provider

            return run_provider(options, environ)


def _as_json(options: Options) -> bool:
    """Whether the command has a --json and it was given."""
    return getattr(options, "as_json", False) is True


def _set_textual_up() -> None:
    """Textual reads these once, when it is imported: a key is drawn 4 ms behind the frame before it, and nothing glides."""
    os.environ.setdefault("TEXTUAL_FPS", "240")
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")


def _unforeseen(error: Exception, profile: str) -> str:
    """Log the traceback; returns the sentence about it."""
    from tui.cli.log_file import log, open_early

    open_early(os.environ, profile)
    log.error("hermes failed", exc_info=error)
    return f"hermes ended because of an error in it ({type(error).__name__}). What is stored is safe; `hermes logs` has the details."
