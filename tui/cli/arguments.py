"""The command line, read into options. A mistake in it ends the process with 2, as argparse does."""

from __future__ import annotations

import argparse
import re
import time
from datetime import datetime
from typing import NoReturn

from msgspec.structs import replace

from agent.config.profile_name import DEFAULT, BadProfileName, check_name
from tui.cli.console import data
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
from tui.version import VERSION

# What each verb of `hermes profile` names, and what it does.
PROFILE_VERBS: dict[str, tuple[tuple[str, ...], str]] = {
    "list": ((), "the profiles there are"),
    "create": (("NAME",), "a new, empty profile"),
    "clone": (("SOURCE", "NAME"), "a new profile with the settings, keys and memories of another one"),
    "use": (("NAME",), "the profile that a plain `hermes` starts with; default goes back to the first one"),
    "rename": (("OLD", "NEW"), "give a profile that is not open another name"),
    "delete": (("NAME",), "remove a profile with all its conversations and keys"),
    "migrate-identity": (("OLD", "NEW"), "finish a renaming that was cut short"),
}

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
    given, others = _profile_parser().parse_known_args(arguments)
    if others in (["version"], ["--version"], ["-V"]):  # alone it never comes here
        data(f"hermes {VERSION}")
        raise SystemExit(0)
    return replace(_read(others), profile=given.profile)


def _read(arguments: list[str]) -> Options:
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help")):
        arguments = ["tui", *arguments]
    given = _parser().parse_args(arguments)
    match given.command:
        case "chat":
            return _chat_options(given)
        case "sessions" if given.verb == "list":
            return ListOptions(given.limit, given.json)
        case "sessions":
            return ExportOptions(given.session)
        case "logs":
            return _log_options(given)
        case "trust":
            return TrustOptions(given.verb, given.folder, given.json, vars(given).get("yes", False))
        case "config":
            values: dict[str, str] = vars(given)
            return ConfigOptions(given.verb, values.get("key", ""), values.get("value", ""), given.json)
        case "doctor":
            return DoctorOptions(given.json, given.offline)
        case "secrets":
            return _secrets_options(given)
        case "profile":
            return _profile_options(given)
        case _:
            return TuiOptions(given.go_on, given.resume, given.model, given.cwd, dict(given.set))


class _Parser(argparse.ArgumentParser):
    """One line about the mistake and where to read more, instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. `{self.prog} -h` shows how it is written.\n")


class _NotYet(argparse.Action):
    """An option that belongs to the command line but waits for the approval policy."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if values != "ask":
            said = f"{option_string} {values}" if values else option_string
            parser.error(
                f"{said} is not there yet: in this version every command and every change of a file asks first"
            )


def _profile_parser() -> argparse.ArgumentParser:
    """The option that every command takes, wherever in the line it stands."""
    parser = _Parser(prog="hermes", add_help=False, allow_abbrev=False)
    _add_profile_option(parser)
    return parser


def _add_profile_option(parser: argparse.ArgumentParser) -> None:
    said = "the profile to use, with any command (the one that `hermes profile use` named)"
    parser.add_argument("-p", "--profile", type=_profile_name, default="", metavar="NAME", help=said)


def _profile_name(text: str) -> str:
    try:
        return text if text in ("", DEFAULT) else check_name(text)
    except BadProfileName as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hermes",
        description="An AI agent in your terminal. Without a command, hermes opens the screen (hermes tui).",
        epilog="Its home is ~/.hermes-tui, or the folder that HERMES_HOME names.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    _add_profile_option(parser)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add_tui(commands.add_parser("tui", help="open the screen"))
    _add_chat(commands.add_parser("chat", help="one prompt, one answer, no screen"))
    _add_sessions(commands.add_parser("sessions", help="list or export conversations"))
    _add_logs(commands.add_parser("logs", help="show the log"))
    _add_trust(commands.add_parser("trust", help="which folders may bring settings of their own"))
    _add_config(commands.add_parser("config", help="show and change settings"))
    _add_secrets(commands.add_parser("secrets", help="list, save or remove keys; their values are never shown"))
    doctor = commands.add_parser("doctor", help="look for what is wrong here, change nothing")
    doctor.add_argument("--json", action="store_true", help="as one JSON object")
    doctor.add_argument("--offline", action="store_true", help="ask no model server")
    _add_profile(commands.add_parser("profile", help="homes beside this one, each with its own settings and keys"))
    commands.add_parser("version", help="print the version")
    return parser


def _add_tui(tui: argparse.ArgumentParser) -> None:
    which = tui.add_mutually_exclusive_group()
    which.add_argument(
        "-c",
        "--continue",
        action="store_true",
        dest="go_on",
        help="open the session last worked in, here if there is one",
    )
    which.add_argument("-r", "--resume", default="", metavar="ID", help="open this session")
    _add_common(tui)
    tui.add_argument("--mode", choices=("ask", "accept-edits", "plan"), action=_NotYet, help="what asks first (ask)")
    tui.add_argument("--yolo", nargs=0, action=_NotYet, help="ask nothing")


def _add_chat(chat: argparse.ArgumentParser) -> None:
    chat.add_argument("-q", "--query", required=True, metavar="TEXT", help="the prompt; - reads it from standard input")
    chat.add_argument("--json", action="store_true", help="print one JSON object instead of the answer")
    chat.add_argument("--session", default="", metavar="ID", help="go on with this session")
    chat.add_argument("--quiet", action="store_true", help="nothing but the answer and errors")
    chat.add_argument("--trust", action="store_true", help="let this folder's own files act, in this run only")
    _add_common(chat)
    chat.add_argument("--mode", choices=("ask", "accept-edits", "plan"), action=_NotYet, help="what asks first (ask)")
    chat.add_argument("--yolo", nargs=0, action=_NotYet, help="ask nothing")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", default="", metavar="MODEL", help="provider:model, a provider, or demo")
    parser.add_argument("--cwd", default="", metavar="FOLDER", help="the folder to work in (this one)")
    said = "a setting for this run only, such as agent.max_turns=5"
    parser.add_argument("--set", type=_flag, action="append", default=[], metavar="KEY=VALUE", help=said)


def _chat_options(given: argparse.Namespace) -> ChatOptions:
    return ChatOptions(
        given.query,
        given.model,
        given.cwd,
        given.session,
        given.json,
        given.quiet,
        given.trust,
        dict(given.set),
    )


def _flag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise argparse.ArgumentTypeError("takes KEY=VALUE, such as agent.max_turns=5")
    return key, value


def _add_config(config: argparse.ArgumentParser) -> None:
    verbs = config.add_subparsers(dest="verb", metavar="verb", required=True)
    for verb, (names, said) in CONFIG_VERBS.items():
        parser = verbs.add_parser(verb, help=said)
        for name in names:
            parser.add_argument(name.lower(), metavar=name)
        parser.add_argument("--json", action="store_true", help="as JSON")


def _add_sessions(sessions: argparse.ArgumentParser) -> None:
    verbs = sessions.add_subparsers(dest="verb", metavar="verb", required=True)
    listing = verbs.add_parser("list", help="the sessions last worked in, newest first")
    listing.add_argument("--json", action="store_true", help="as a JSON array")
    listing.add_argument("--limit", type=_positive, default=50, metavar="N", help="how many (50)")
    export = verbs.add_parser("export", help="one session with all its rows")
    export.add_argument("session", metavar="ID")
    export.add_argument("--json", action="store_true", required=True, help="as one JSON object")


def _add_logs(logs: argparse.ArgumentParser) -> None:
    logs.add_argument("-n", "--lines", type=_positive, metavar="N", help="how many lines (100; with --since all)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what is logged from now on")
    since = "what is not older than 10m, 2h or 3d, or than a time such as 2026-11-29T10:00"
    logs.add_argument("--since", type=_since, metavar="TIME", help=since)
    levels = ("debug", "info", "warning", "error")
    logs.add_argument("--level", choices=levels, default="", help="what is at least so serious")


def _log_options(given: argparse.Namespace) -> LogOptions:
    lines = given.lines or (None if given.since is not None else 100)
    return LogOptions(lines, given.follow, given.since, given.level)


def _add_trust(trust: argparse.ArgumentParser) -> None:
    verbs = trust.add_subparsers(dest="verb", metavar="verb", required=True)
    listing = verbs.add_parser("list", help="the trusted folders, or what one folder would do")
    add = verbs.add_parser("add", help="show what a folder would do, and trust it as it is now")
    add.add_argument("--yes", action="store_true", help="do not ask")
    remove = verbs.add_parser("remove", help="trust a folder no more")
    for verb in (listing, add, remove):
        verb.add_argument("folder", nargs="?", default="", metavar="FOLDER", help="this one where none is named")
        verb.add_argument("--json", action="store_true", help="as JSON")


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


def _since(text: str) -> float:
    """A Unix time; a time without a zone is this machine's."""
    span = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if span:
        return time.time() - int(span[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[span[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError("takes 10m, 2h, 3d or a time such as 2026-11-29T10:00") from error


def _add_profile(profile: argparse.ArgumentParser) -> None:
    verbs = profile.add_subparsers(dest="verb", metavar="verb", required=True)
    for verb, (names, said) in PROFILE_VERBS.items():
        parser = verbs.add_parser(verb, help=said)
        for name in names:
            parser.add_argument(f"name_{name.lower()}", metavar=name)
        if verb == "delete":
            parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--json", action="store_true", help="as JSON")


def _profile_options(given: argparse.Namespace) -> ProfileOptions:
    values: dict[str, str] = vars(given)
    names = tuple(values[f"name_{name.lower()}"] for name in PROFILE_VERBS[given.verb][0])
    return ProfileOptions(given.verb, names, given.json, getattr(given, "yes", False))


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
