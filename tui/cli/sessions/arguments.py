"""The command line of `hermes sessions`, read into options."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tui.cli.argument_types import positive, since
from tui.cli.options import SessionsOptions
from tui.cli.sessions.options import (
    OLD_DAYS,
    DeleteOptions,
    ExportOptions,
    ImportOptions,
    ListOptions,
    MarkOptions,
    PruneOptions,
    RelinkOptions,
    RenameOptions,
    RepairOptions,
    SearchOptions,
    ShowOptions,
    StatsOptions,
)

Parser = argparse.ArgumentParser
NAMED = "its id, the beginning of it, or its title"
MARKS = {
    "pin": "keep sessions in sight; prune leaves them alone",
    "unpin": "keep them in sight no more",
    "archive": "end sessions and keep them out of the lists",
    "unarchive": "put them back into the lists",
}


def add_sessions(sessions: Parser) -> None:
    """The verbs, each with --json. A mistake that shows only when options are read together goes through the verb's parser."""
    sessions.epilog = "A session is named by its id, by the beginning of it if no other begins so, or by its title."
    verbs = sessions.add_subparsers(dest="verb", metavar="verb", required=True)
    for verb, (add, said) in VERBS.items():
        parser = verbs.add_parser(verb, help=said, description=f"{said[0].upper()}{said[1:]}.")
        add(parser)
        parser.add_argument("--json", action="store_true", help="as JSON")
        parser.set_defaults(parser=parser)
    for mark, said in MARKS.items():
        parser = verbs.add_parser(mark, help=said, description=f"{said[0].upper()}{said[1:]}.")
        parser.add_argument("sessions", nargs="+", metavar="SESSION", help=NAMED)
        parser.add_argument("--json", action="store_true", help="as JSON")


def sessions_options(given: argparse.Namespace) -> SessionsOptions:
    """Raises SystemExit: 2 where options contradict each other."""
    match given.verb:
        case "list":
            return ListOptions(given.limit, given.before, given.here, given.all, as_json=given.json)
        case "show":
            return ShowOptions(given.session, given.limit, given.before, as_json=given.json)
        case "search":
            return _search_options(given)
        case "rename":
            return RenameOptions(given.session, given.title, as_json=given.json)
        case "delete":
            return DeleteOptions(tuple(given.sessions), given.yes, as_json=given.json)
        case "export":
            return _export_options(given)
        case "import":
            return _import_options(given)
        case "prune":
            return PruneOptions(given.older_than, given.dry_run, given.vacuum, given.yes, as_json=given.json)
        case "repair":
            return RepairOptions(given.dry_run, as_json=given.json)
        case "stats":
            return StatsOptions(given.days, as_json=given.json)
        case "relink":
            return _relink_options(given)
        case mark:
            return MarkOptions(mark, tuple(given.sessions), as_json=given.json)


def _add_list(parser: Parser) -> None:
    _add_limit(parser, 50, "how many")
    parser.add_argument("--before", default="", metavar="SESSION", help="those behind this one: the next page")
    parser.add_argument("--here", action="store_true", help="only those of the folder you are in, or of its git tree")
    parser.add_argument("--all", action="store_true", help="archived ones, too")


def _add_show(parser: Parser) -> None:
    _add_session(parser)
    _add_limit(parser, 50, "how many messages")
    parser.add_argument("--before", type=positive, metavar="ID", help="those before the message with this number")


def _add_search(parser: Parser) -> None:
    said = 'every word must be in a message; "in quotes" as it stands. Signs are taken literally'
    parser.add_argument("query", nargs="+", metavar="TEXT", help=said)
    parser.epilog = "The exit code is 1 where nothing is found, as with grep."
    _add_limit(parser, 20, "how many")
    parser.add_argument("--page", type=positive, default=1, metavar="N", help="the next ones: 2, 3, …")
    parser.add_argument("--role", choices=("user", "assistant", "tool"), default="", help="who said it")
    parser.add_argument("--session", default="", metavar="SESSION", help="in this session only")
    time = "10m, 2h, 3d or a time such as 2026-11-29T10:00"
    parser.add_argument("--since", type=since, metavar="TIME", help=f"not older than {time}")
    parser.add_argument("--until", type=since, metavar="TIME", help="older than that")
    parser.add_argument("--folder", default="", metavar="FOLDER", help="in sessions of this folder or git tree")
    parser.add_argument("--source", default="", metavar="NAME", help="in sessions begun there: tui, chat, import, …")
    parser.add_argument("--order", choices=("best", "newest", "oldest"), default="best", help="which first (best)")


def _add_rename(parser: Parser) -> None:
    _add_session(parser)
    parser.add_argument("title", metavar="TITLE", help="one line of up to 100 characters; no other session may have it")


def _add_delete(parser: Parser) -> None:
    parser.add_argument("sessions", nargs="+", metavar="SESSION", help=NAMED)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_export(parser: Parser) -> None:
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help=NAMED)
    parser.add_argument("--all", action="store_true", help="every session, in one file")
    formats = "md to read, jsonl to keep and import (what the name of the file says, else md)"
    parser.add_argument("--format", choices=("md", "jsonl"), help=formats)
    parser.add_argument("--output", default="", metavar="FILE", help="where to (standard output)")
    parser.add_argument("--force", action="store_true", help="also where the file is there already")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--redact", dest="redact", action="store_true", help="mask known secrets (md does)")
    which.add_argument("--exact", dest="redact", action="store_false", help="as it was said (jsonl does)")
    parser.set_defaults(redact=None)


def _export_options(given: argparse.Namespace) -> ExportOptions:
    if bool(given.sessions) == given.all:
        given.parser.error("takes sessions, or --all")
    if given.json and not given.output:
        given.parser.error("--json tells about a file, so it needs --output")
    return ExportOptions(
        tuple(given.sessions),
        given.all,
        given.format,
        given.output,
        given.redact,
        given.force,
        as_json=given.json,
    )


def _add_import(parser: Parser) -> None:
    parser.add_argument("path", metavar="FILE", help="exported as jsonl; with --from its state.db, or the folder of it")
    said = "bring over the conversations of a neighbour, whose file is only read"
    parser.add_argument("--from", choices=("hermes-agent",), dest="origin", help=said)


def _import_options(given: argparse.Namespace) -> ImportOptions:
    return ImportOptions(given.path, given.origin is not None, as_json=given.json)


def _add_prune(parser: Parser) -> None:
    parser.epilog = "Pinned sessions and those that were never ended stay, however old they are."
    said = f"ended, and nothing said, for so many days ({OLD_DAYS})"
    parser.add_argument("--older-than", type=positive, default=OLD_DAYS, metavar="DAYS", help=said)
    parser.add_argument("--dry-run", action="store_true", help="say what would be removed")
    parser.add_argument("--vacuum", action="store_true", help="shrink the file where a quarter of it is unused")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_repair(parser: Parser) -> None:
    parser.epilog = "The exit code is 1 where something is left that could not be mended."
    parser.add_argument("--dry-run", action="store_true", help="look, and change nothing")


def _add_stats(parser: Parser) -> None:
    parser.add_argument("--days", type=positive, default=7, metavar="N", help="how many days one by one (7)")


def _add_relink(parser: Parser) -> None:
    parser.add_argument("session", nargs="?", default="", metavar="SESSION", help=NAMED)
    parser.add_argument("folder", nargs="?", default="", metavar="FOLDER", help="where it works now (this folder)")
    said = "follow a folder that was moved, in every session that worked in it"
    parser.add_argument("--all-under", nargs=2, metavar=("OLD", "NEW"), help=said)


def _relink_options(given: argparse.Namespace) -> RelinkOptions:
    if bool(given.session) == bool(given.all_under):
        given.parser.error("takes a session, or --all-under OLD NEW")
    moved = (given.all_under[0], given.all_under[1]) if given.all_under else None
    return RelinkOptions(given.session, given.folder, moved, as_json=given.json)


def _search_options(given: argparse.Namespace) -> SearchOptions:
    return SearchOptions(
        " ".join(given.query),
        given.limit,
        given.page,
        given.role,
        given.session,
        given.since,
        given.until,
        given.folder,
        given.source,
        given.order,
        as_json=given.json,
    )


def _add_session(parser: Parser) -> None:
    parser.add_argument("session", metavar="SESSION", help=NAMED)


def _add_limit(parser: Parser, usual: int, said: str) -> None:
    parser.add_argument("--limit", type=positive, default=usual, metavar="N", help=f"{said} ({usual})")


VERBS: dict[str, tuple[Callable[[Parser], None], str]] = {
    "list": (_add_list, "the sessions last worked in, newest first"),
    "show": (_add_show, "the end of a conversation, or an earlier part"),
    "search": (_add_search, "find what was said, in all sessions"),
    "rename": (_add_rename, "give a session another title"),
    "delete": (_add_delete, "remove sessions for good, with all that was said in them"),
    "export": (_add_export, "conversations as Markdown or as lines of JSON"),
    "import": (_add_import, "bring conversations back, or over from hermes-agent"),
    "prune": (_add_prune, "remove sessions that were ended long ago"),
    "repair": (_add_repair, "look for damage, and mend what can be mended"),
    "stats": (_add_stats, "how much is stored, and what it was spent on"),
    "relink": (_add_relink, "tell sessions where their folder is now"),
}
