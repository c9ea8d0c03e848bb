"""The command line, read into options. A mistake in it ends the process with 2, as argparse does."""

from __future__ import annotations

import argparse
from typing import NoReturn

from tui.cli.options import ChatOptions, ExportOptions, ListOptions, LogOptions, Options, TuiOptions


def parse(arguments: list[str]) -> Options:
    """Raises SystemExit: 0 after help, 2 after a mistake."""
    if arguments[0].startswith("-") and arguments[0] not in ("-h", "--help"):
        arguments = ["tui", *arguments]
    given = _parser().parse_args(arguments)
    match given.command:
        case "chat":
            return ChatOptions(given.query, given.model, given.cwd, given.session, given.json, given.quiet)
        case "sessions" if given.verb == "list":
            return ListOptions(given.limit, given.json)
        case "sessions":
            return ExportOptions(given.session)
        case "logs":
            return LogOptions(given.lines)
        case _:
            return TuiOptions(given.go_on, given.resume, given.model, given.cwd)


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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hermes",
        description="An AI agent in your terminal. Without a command, hermes opens the screen (hermes tui).",
        epilog="Its home is ~/.hermes-tui, or the folder that HERMES_HOME names.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add_tui(commands.add_parser("tui", help="open the screen"))
    _add_chat(commands.add_parser("chat", help="one prompt, one answer, no screen"))
    _add_sessions(commands.add_parser("sessions", help="list or export conversations"))
    logs = commands.add_parser("logs", help="show the end of the log")
    logs.add_argument("-n", "--lines", type=_positive, default=100, metavar="N", help="how many lines (100)")
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
    _add_common(chat)
    chat.add_argument("--mode", choices=("ask", "accept-edits", "plan"), action=_NotYet, help="what asks first (ask)")
    chat.add_argument("--yolo", nargs=0, action=_NotYet, help="ask nothing")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", default="", metavar="MODEL", help="provider:model, a provider, or demo")
    parser.add_argument("--cwd", default="", metavar="FOLDER", help="the folder to work in (this one)")


def _add_sessions(sessions: argparse.ArgumentParser) -> None:
    verbs = sessions.add_subparsers(dest="verb", metavar="verb", required=True)
    listing = verbs.add_parser("list", help="the sessions last worked in, newest first")
    listing.add_argument("--json", action="store_true", help="as a JSON array")
    listing.add_argument("--limit", type=_positive, default=50, metavar="N", help="how many (50)")
    export = verbs.add_parser("export", help="one session with all its rows")
    export.add_argument("session", metavar="ID")
    export.add_argument("--json", action="store_true", required=True, help="as one JSON object")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
