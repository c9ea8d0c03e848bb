"""`search_files`: lines of files that match a regular expression, or files by their names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from agent.approvals.paths import resolve
from agent.approvals.shell_paths import is_secret
from agent.tools.arguments import flag, known_only, optional_text, required_text, whole_number
from agent.tools.base import Arguments, BadArguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.globs import BrokenGlob, path_filter
from agent.tools.opened import NotReadable
from agent.tools.search_query import Query
from agent.tools.search_results import MOST_FOUND, Page, Records, page_of
from agent.tools.search_run import (
    CannotSearch,
    Ending,
    arguments_of,
    find_ripgrep,
    opened_root,
    run_search,
)
from agent.tools.shown_path import from_folder, shown_path
from session.models import CallOutcome

LIMIT, MOST_LIMIT = 100, 1_000
MOST_CONTEXT = 10
MOST_PATTERN_CHARS = 10_000
MOST_S = 60.0

NAME = "search_files"
DESCRIPTION = (
    "Search a folder and all below it. `what` is lines (the default: each line that matches, as `number: text` below the "
    "path of its file), counts (how many lines of each file match) or names (files whose names match). For names, the "
    "pattern is a glob such as `*.py` or `src/**/test_*.{ts,tsx}`, without a slash for names in any folder; else it is a "
    "regular expression for one line, without look-around or back-references. What .gitignore files leave out, .git and "
    "binary files are not searched; other names that begin with a dot are. Lines of files that look as if they hold keys "
    "(.env, id_rsa, *.pem) are found only if path names the file itself. Links are not followed. Long lines are cut around "
    f"the match. Sorted by path, at most {LIMIT} at once unless limit says otherwise."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "A regular expression, or for names a glob."},
        "path": {"type": "string", "description": "The folder or file. Default: the session's folder."},
        "what": {"type": "string", "enum": ["lines", "counts", "names"], "description": "Default lines."},
        "glob": {"type": "string", "description": "Only in files that this matches, such as *.py or src/**."},
        "literal": {"type": "boolean", "description": "The pattern is a text, not a regular expression."},
        "ignore_case": {"type": "boolean"},
        "context": {
            "type": "integer",
            "minimum": 0,
            "maximum": MOST_CONTEXT,
            "description": "Lines around each match, shown as `number- text`.",
        },
        "ignored": {"type": "boolean", "description": "Also in what .gitignore files leave out."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LIMIT, "description": f"Default {LIMIT}."},
        "offset": {"type": "integer", "minimum": 0, "description": "How many matches to pass over. Default 0."},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}
_FIELDS = ("pattern", "path", "what", "glob", "literal", "ignore_case", "context", "ignored", "limit", "offset")
_NAMED_SECRETS = 5
_KINDS = ("lines", "counts", "names")


def touches(args: Arguments, place: Workplace) -> Touch:
    return Touch(reads=(resolve(_path(args), place),))


def shown(args: Arguments) -> str:
    return f"{required_text(args, 'pattern')}\nin {_path(args)}"


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path = (ctx.touch or touches(args, ctx.place)).reads[0]
    query = _query(args, path, is_file=await asyncio.to_thread(path.is_file))
    skip = whole_number(args, "offset", default=0, least=0, most=MOST_FOUND)
    limit = whole_number(args, "limit", default=LIMIT, least=1, most=MOST_LIMIT)
    start = from_folder(path, ctx.place.cwd)
    records = Records(query.kind, _is_wanted(query), only_file=start if query.is_file else "")
    try:
        ending = await _search(path, query, ctx.place, records)
    except NotReadable as error:
        return ToolResult(f"{path} is {error}.", CallOutcome.ERROR)
    except CannotSearch as error:
        return ToolResult(str(error), CallOutcome.ERROR)
    except OSError as error:
        return ToolResult(f"{path} could not be searched: {error.strerror or error}.", CallOutcome.ERROR)
    if records.said and not records.found:
        return ToolResult(_why_failed(records.said), CallOutcome.ERROR)
    prefix = "" if query.is_file or start == "." else f"{start}/"
    page = await asyncio.to_thread(page_of, records.found, skip, limit, query.context, prefix)
    held_back = await asyncio.to_thread(_held_back, path, query)
    told = (page.text, _told(page, skip, query.kind), _left_off(records, ending), held_back)
    return ToolResult("\n".join(filter(None, told)))


def _path(args: Arguments) -> str:
    known_only(args, _FIELDS)
    return optional_text(args, "path") or "."


def _query(args: Arguments, path: Path, *, is_file: bool) -> Query:
    pattern, kind = required_text(args, "pattern"), optional_text(args, "what") or "lines"
    if kind not in _KINDS:
        raise BadArguments(f'"what" takes {", ".join(_KINDS)}, not "{kind}".')
    if not 0 < len(pattern) <= MOST_PATTERN_CHARS or "\0" in pattern:
        raise BadArguments(f'"pattern" takes 1 to {MOST_PATTERN_CHARS:,} characters, none of them NUL.')
    if kind == "names" and is_file:
        raise BadArguments(f"{path} is a file; names are looked for in a folder.")
    return Query(
        kind=kind,
        pattern=pattern,
        is_file=is_file,
        glob=pattern if kind == "names" else optional_text(args, "glob") or "",
        is_literal=flag(args, "literal"),
        ignores_case=flag(args, "ignore_case"),
        context=whole_number(args, "context", default=0, least=0, most=MOST_CONTEXT),
        with_ignored=flag(args, "ignored"),
        top=str(path),
    )


def _is_wanted(query: Query) -> Callable[[str], bool]:
    """Of the paths that are found, those to tell of. Raises BadArguments."""
    if query.is_file:
        return lambda _: True
    try:
        is_meant = path_filter(query.glob, ignores_case=query.glob_ignores_case)
    except BrokenGlob as error:
        raise BadArguments(f'"{query.glob}" cannot be looked for as a glob: {error}.') from error
    if query.kind == "names":
        return is_meant
    return lambda path: is_meant(path) and not is_secret(path)


def _held_back(path: Path, query: Query) -> str:
    """The files of keys in the folder itself, whether anything matches in them or not: else one could guess at them."""
    if query.is_file or query.kind == "names":
        return ""
    with suppress(OSError):
        names = sorted(name for name in os.listdir(path) if is_secret(name))  # noqa: PTH208
        shown = ", ".join(map(shown_path, names[:_NAMED_SECRETS]))
        more = f" and {len(names) - _NAMED_SECRETS} more" if len(names) > _NAMED_SECRETS else ""
        return f"(Not searched, since it may hold keys: {shown}{more}.)" if names else ""
    return ""


async def _search(path: Path, query: Query, place: Workplace, records: Records) -> Ending:
    """Raises NotReadable, CannotSearch, OSError."""
    ripgrep = await asyncio.to_thread(find_ripgrep, place)
    with ExitStack() as stack:
        cwd, root = await asyncio.to_thread(stack.enter_context, opened_root(path, is_file=query.is_file))
        arguments = arguments_of(query._replace(root=root), ripgrep)
        ending = await run_search(arguments, cwd, place, records.take, MOST_S)
    records.finish()
    return ending


def _why_failed(said: str) -> str:
    """The reason stands behind the pattern itself, in a line of its own."""
    lines = said.strip().split("\n")
    reason = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), lines[0])
    return f'"pattern" cannot be searched for: {reason}.'


def _told(page: Page, skip: int, kind: str) -> str:
    noun = "matching lines" if kind == "lines" else "files"
    if not page.total:
        return "(Nothing was found.)"
    if not page.shown:
        return f"(There are only {page.total:,} {noun}.)"
    if not skip and not page.next:
        return f"({page.total:,} {noun if page.total > 1 else noun.removesuffix('s')}.)"
    on = f": go on with offset {page.next}" if page.next else ""
    return f"({noun.capitalize()} {skip + 1:,}-{skip + page.shown:,} of {page.total:,}{on}.)"


def _left_off(records: Records, ending: Ending) -> str:
    if records.is_full:
        return f"(There are more than these {MOST_FOUND:,}, which were not looked for. Narrow the search.)"
    if ending.is_late:
        return f"(The search was stopped after {MOST_S:.0f} s; this is what it had found by then. Narrow it.)"
    return ""
