"""The command line, read into options. A mistake in it ends the process with 2, as argparse does."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from tui.cli.argument_types import positive, profile_name, since
from tui.cli.console import data, mistake
from tui.cli.options import (
    ApprovalsOptions,
    CommandsOptions,
    CompletionOptions,
    ConfigOptions,
    DoctorOptions,
    LogOptions,
    Options,
    ProcessesOptions,
    PromptOptions,
    ProviderOptions,
    SecretsOptions,
    TrustOptions,
    WireLogOptions,
)
from tui.version import VERSION

if TYPE_CHECKING:
    from tui.cli.command_tree import Command

USAGE = 2  # the exit code of a mistake in the command line

# What each verb of `hermes config` names, and what it does.
CONFIG_VERBS: dict[str, tuple[tuple[str, ...], str]] = {
    "list": ((), "every setting, its value and where that came from"),
    "get": (("KEY",), "the value of a setting"),
    "set": (("KEY", "VALUE"), "save a setting; a name such as OPENAI_API_KEY goes to .env"),
    "unset": (("KEY",), "take a setting out"),
    "path": ((), "where config.yaml is"),
    "edit": ((), "open a copy in your editor, and take it when it is right"),
    "check": ((), "say what is wrong in the files"),
}


def parse(arguments: list[str]) -> Options:
    """Raises SystemExit: 0 after help, 2 after a mistake."""
    try:
        return _parsed(arguments)
    except Mistaken as mistake:
        _tell(str(mistake), arguments)
        raise SystemExit(USAGE) from None


def _parsed(arguments: list[str]) -> Options:
    given, others = _profile_parser().parse_known_args(arguments)
    if others in (["version"], ["--version"], ["-V"]):  # alone it never comes here
        data(f"hermes {VERSION}")
        raise SystemExit(0)
    return replace(_read(others), profile=given.profile or "")


def _tell(sentence: str, arguments: list[str]) -> None:
    """What is wrong in the command line; for a program the object that it would have got without the mistake."""
    is_event, is_object = "--stream-json" in arguments, "--json" in arguments
    if "chat" in arguments and (is_event or is_object):
        from tui.cli.turn_report import unread

        data(unread(sentence, is_event=is_event))
        is_object = False
    mistake(sentence, as_json=is_object)


def _read(arguments: list[str]) -> Options:
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help")):
        arguments = ["tui", *arguments]
    given = _parser(arguments[0]).parse_args(arguments)
    match given.command:
        case "chat":
            from tui.cli.turn_arguments import chat_options

            return chat_options(given)
        case "sessions":
            from tui.cli.sessions.arguments import sessions_options

            return sessions_options(given)
        case "logs":
            return _log_options(given)
        case "trust":
            return TrustOptions(given.verb, given.folder, given.json, vars(given).get("yes", False))
        case "approvals":
            told: dict[str, str] = vars(given)
            command, rule = told.get("cmd", ""), told.get("rule", "")
            return ApprovalsOptions(command, given.cwd, given.json, bool(told.get("stdin")), given.verb, rule)
        case "config":
            values: dict[str, str] = vars(given)
            return ConfigOptions(given.verb, values.get("key", ""), values.get("value", ""), given.json)
        case "doctor":
            return DoctorOptions(given.json, given.offline, given.terminal)
        case "secrets":
            return _secrets_options(given)
        case "processes":
            return ProcessesOptions(given.verb, given.json)
        case "model":
            from tui.cli.model_arguments import model_options

            return model_options(given)
        case "commands":
            return CommandsOptions(given.json)
        case "prompt":
            return PromptOptions(given.verb, given.session or "", given.personality, given.cwd, given.json)
        case "profile":
            from tui.cli.profile_arguments import profile_options

            return profile_options(given)
        case "completion":
            return CompletionOptions(given.shell)
        case "provider":
            return ProviderOptions(given.name, given.json, given.save, given.yes)
        case _:
            from tui.cli.turn_arguments import tui_options

            return tui_options(given)


class Mistaken(Exception):
    """The command line can't be read; the text is a sentence about it."""


class _Parser(argparse.ArgumentParser):
    """One line about the mistake and where to read more, instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        raise Mistaken(f"{message}. `{self.prog} -h` shows how it is written.")


def _profile_parser() -> argparse.ArgumentParser:
    """The option that every command takes, wherever in the line it stands."""
    parser = _Parser(prog="hermes", add_help=False, allow_abbrev=False)
    _add_profile_option(parser)
    return parser


def _add_profile_option(parser: argparse.ArgumentParser) -> None:
    said = "the profile to use, with any command (the one that `hermes profile use` named)"
    parser.add_argument("-p", "--profile", type=profile_name, metavar="NAME", help=said)


def whole_tree() -> Command:
    """The whole command line as data."""
    from tui.cli.command_tree import command_tree

    return command_tree(_parser(None))


def _parser(command: str | None) -> argparse.ArgumentParser:
    """The whole command line, but the options of `command` alone (None for all): a start would pay for all the others."""
    parser = _Parser(
        prog="hermes",
        description="An AI agent in your terminal. Without a command, hermes opens the screen (hermes tui).",
        epilog="Its home is ~/.hermes-tui, or the folder that HERMES_HOME names.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    _add_profile_option(parser)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, (add, said) in COMMANDS.items():
        named = commands.add_parser(name, help=said)
        if command in (name, None):
            add(named)
    return parser


def _add_tui(tui: argparse.ArgumentParser) -> None:
    from tui.cli.turn_arguments import add_tui

    add_tui(tui)


def _add_chat(chat: argparse.ArgumentParser) -> None:
    from tui.cli.turn_arguments import add_chat

    add_chat(chat)


def _add_sessions(sessions: argparse.ArgumentParser) -> None:
    from tui.cli.sessions.arguments import add_sessions

    add_sessions(sessions)


def _add_doctor(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument("--json", action="store_true", help="as one JSON object")
    doctor.add_argument("--offline", action="store_true", help="ask no model server")
    doctor.add_argument(
        "--terminal", action="store_true", help="a page that tries out the terminal, its keys and mouse"
    )


def _add_processes(processes: argparse.ArgumentParser) -> None:
    processes.add_argument("verb", nargs="?", choices=("list", "stop"), default="list", help="list where none is named")
    processes.add_argument("--json", action="store_true", help="as JSON")


def _add_model(model: argparse.ArgumentParser) -> None:
    from tui.cli.model_arguments import add_model

    add_model(model)


def _add_commands(commands: argparse.ArgumentParser) -> None:
    commands.add_argument("--json", action="store_true", help="as JSON")


def _add_prompt(prompt: argparse.ArgumentParser) -> None:
    from tui.cli.prompt_arguments import add_prompt

    add_prompt(prompt)


def _add_completion(completion: argparse.ArgumentParser) -> None:
    completion.epilog = "What to do with the script is told at its beginning."
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="for which shell")


def _add_nothing(_: argparse.ArgumentParser) -> None:
    """For a command without options."""


def _add_config(config: argparse.ArgumentParser) -> None:
    verbs = config.add_subparsers(dest="verb", metavar="verb", required=True)
    for verb, (names, said) in CONFIG_VERBS.items():
        parser = verbs.add_parser(verb, help=said)
        for name in names:
            parser.add_argument(name.lower(), metavar=name)
        parser.add_argument("--json", action="store_true", help="as JSON")


def _add_logs(logs: argparse.ArgumentParser) -> None:
    logs.add_argument("-n", "--lines", type=positive, metavar="N", help="how many lines (100; with --since all)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what is logged from now on")
    said = "what is not older than 10m, 2h or 3d, or than a time such as 2026-11-29T10:00"
    logs.add_argument("--since", type=since, metavar="TIME", help=said)
    levels = ("debug", "info", "warning", "error")
    logs.add_argument("--level", choices=levels, default="", help="what is at least so serious")
    kinds = logs.add_subparsers(dest="kind", metavar="kind")
    wire = kinds.add_parser("wire", help="the last requests to model servers: sizes, times, attempts; no contents")
    wire.add_argument("-n", "--lines", type=positive, default=20, dest="requests", metavar="N", help="how many (20)")
    wire.add_argument("--session", default="", metavar="ID", help="those of this session")
    wire.add_argument("--json", action="store_true", help="as JSON")


def _log_options(given: argparse.Namespace) -> LogOptions | WireLogOptions:
    if given.kind == "wire":
        return WireLogOptions(given.requests, given.session, given.json)
    lines = given.lines or (None if given.since is not None else 100)
    return LogOptions(lines, given.follow, given.since, given.level)


def _add_provider(provider: argparse.ArgumentParser) -> None:
    verbs = provider.add_subparsers(dest="verb", metavar="verb", required=True)
    check = verbs.add_parser("check", help="send a few small requests, and say what works")
    said = "a provider, or provider:model; the one that answers where none is named"
    check.add_argument("name", nargs="?", default="", metavar="NAME", help=said)
    check.add_argument("--save", action="store_true", help="save what was found in config.yaml")
    check.add_argument("--yes", action="store_true", help="do not ask")
    check.add_argument("--json", action="store_true", help="as JSON")


def _add_trust(trust: argparse.ArgumentParser) -> None:
    verbs = trust.add_subparsers(dest="verb", metavar="verb", required=True)
    listing = verbs.add_parser("list", help="the trusted folders, or what one folder would do")
    add = verbs.add_parser("add", help="show what a folder would do, and trust it as it is now")
    add.add_argument("--yes", action="store_true", help="do not ask")
    remove = verbs.add_parser("remove", help="trust a folder no more")
    for verb in (listing, add, remove):
        verb.add_argument("folder", nargs="?", default="", metavar="FOLDER", help="this one where none is named")
        verb.add_argument("--json", action="store_true", help="as JSON")


def _add_approvals(approvals: argparse.ArgumentParser) -> None:
    verbs = approvals.add_subparsers(dest="verb", metavar="verb", required=True)
    test = verbs.add_parser("test", help="say what would become of a command; nothing is run")
    test.add_argument("cmd", nargs="?", default="", metavar="COMMAND", help="as one word, in quotes")
    said = 'judge each line of standard input, such as {"cmd": "ls"}, and answer with a line of JSON'
    test.add_argument("--stdin", action="store_true", help=said)
    listing = verbs.add_parser("list", help="which rules stand, and where each comes from")
    revoke = verbs.add_parser("revoke", help="take a rule out of config.yaml: what it allowed is asked about again")
    revoke.add_argument("rule", metavar="RULE", help="as the list shows it, in quotes")
    for verb in (test, listing, revoke):
        verb.add_argument("--json", action="store_true", help="as JSON")
        verb.add_argument("--cwd", default="", metavar="FOLDER", help="the folder that it is about (here)")


def _add_secrets(secrets: argparse.ArgumentParser) -> None:
    verbs = secrets.add_subparsers(dest="verb", metavar="verb", required=True)
    listing = verbs.add_parser("list", help="which there are, and where each comes from")
    put = verbs.add_parser("set", help="save one in .env; the value is asked for, hidden, or read from standard input")
    unset = verbs.add_parser("unset", help="take one out of .env")
    for verb in (put, unset):
        verb.add_argument("name", metavar="NAME")
    # Whatever stands behind the name would be repeated in a message about it, and it may be a key.
    put.add_argument("behind", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    for verb in (listing, put, unset):
        verb.add_argument("--json", action="store_true", help="as JSON")


def _secrets_options(given: argparse.Namespace) -> SecretsOptions:
    behind: list[str] = vars(given).get("behind", [])
    surplus = any(word != "--json" for word in behind)
    return SecretsOptions(given.verb, vars(given).get("name", ""), given.json or "--json" in behind, surplus)


def _add_profile(profile: argparse.ArgumentParser) -> None:
    from tui.cli.profile_arguments import add_profile

    add_profile(profile)


COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str]] = {
    "tui": (_add_tui, "open the screen"),
    "chat": (_add_chat, "one prompt, one answer, no screen"),
    "sessions": (_add_sessions, "find, show, change, export and repair conversations"),
    "logs": (_add_logs, "show the log"),
    "trust": (_add_trust, "which folders may bring settings of their own"),
    "approvals": (_add_approvals, "what would run unasked, and what would not"),
    "config": (_add_config, "show and change settings"),
    "secrets": (_add_secrets, "list, save or remove keys; their values are never shown"),
    "doctor": (_add_doctor, "look for what is wrong here, change nothing"),
    "processes": (_add_processes, "what a hermes that was killed left running, and stopping it"),
    "provider": (_add_provider, "what a model server can do, found out by asking it"),
    "model": (_add_model, "what a new session talks to, the models there are, and another default"),
    "commands": (_add_commands, "the slash commands of the screen"),
    "prompt": (_add_prompt, "what a model is told before the conversation, part by part"),
    "profile": (_add_profile, "homes beside this one, each with its own settings and keys"),
    "completion": (_add_completion, "a script by which a shell completes this command line"),
    "version": (_add_nothing, "print the version"),
}
