"""`patch`: replace parts of a text file, all of them or none, and no byte besides."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct

from agent.approvals.paths import resolve
from agent.tools.arguments import flag, known_only, optional_text, required_text
from agent.tools.base import Arguments, BadArguments, CallContext, FileChange, ToolResult, Touch, Workplace
from agent.tools.edits import CannotEdit, Edit, edited
from agent.tools.replacement import Current, IsCancelled, NotReplaced, current, replace_content, to_its_end, told
from agent.tools.seen_files import FileState, SeenFiles
from agent.tools.short_diff import short_diff
from agent.tools.text_file import WholeText, legal, whole_text
from session.models import CallOutcome

MOST_EDITS = 100
MOST_BYTES = 20 * 1024**2

NAME = "patch"
DESCRIPTION = (
    "Replace parts of a text file: `old`, as it stands in the file, gives way to `new`. Several edits of one file go into "
    "`edits`; they are made in their order, each on what the ones before it made, and only if all of them fit. "
    "`old` has to name one place: take in as many lines around as that needs, without the line numbers of read_file. "
    "More than one place is an error that names their lines, unless replace_all is set. "
    "It is looked for as written (write line ends as \\n whatever the file has), and where that is nowhere, in this order: "
    "without regard to blanks at the ends of lines; with all of its lines indented more or less by the same; with quotes, "
    "dashes and spaces in their typographic forms. The result says which of these was needed. "
    "All else stays byte for byte: line ends, encoding, a byte order mark, a missing line end at the end of the file. "
    "At the end of a file: where its last line has no line end, an `old` that ends in \\n fits there all the same. With "
    "at_end, `old` has to be the last lines, an empty `old` adds `new` as lines behind them, and whether the last line is "
    "ended stays as it was. Without at_end, an empty `old` fits only an empty or new file. "
    "A file that changed since it was read has to be read again first."
)
_EDIT: dict[str, object] = {
    "old": {"type": "string", "description": "What is there."},
    "new": {"type": "string", "description": "What takes its place."},
    "replace_all": {"type": "boolean", "description": "Every place where `old` stands as written."},
    "at_end": {"type": "boolean", "description": "Only at the end of the file."},
}
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or from the session's folder."},
        **_EDIT,
        "edits": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_EDITS,
            "description": "Several edits, instead of old and new.",
            "items": {
                "type": "object",
                "properties": _EDIT,
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
_EDIT_FIELDS = tuple(_EDIT)
_FIELDS = ("path", *_EDIT_FIELDS, "edits")


class _Patched(Struct, frozen=True):
    """A file before and after. `notes` is what was overlooked to find the places."""

    old: Current | None
    before: WholeText
    after: str
    places: int
    notes: tuple[str, ...]


def touches(args: Arguments, place: Workplace) -> Touch:
    _edits(args)
    return Touch(writes=(resolve(_path(args), place),))


def shown(args: Arguments) -> str:
    return "\n\n".join((_path(args), *map(_edit_shown, _edits(args))))


def preview(args: Arguments, place: Workplace) -> FileChange:
    """What would become of the file. Reads it, so not for the loop. Raises BadArguments where the edits do not fit."""
    path = resolve(_path(args), place)
    try:
        patched = _patched(path, _edits(args), place.seen)
    except NotReplaced as error:
        raise BadArguments(str(error)) from error
    base = patched.old.state.sha256 if patched.old else ""
    return FileChange(path, legal(patched.before.text), legal(patched.after), base)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path, edits = (ctx.touch or touches(args, ctx.place)).writes[0], _edits(args)

    def write(is_cancelled: IsCancelled) -> tuple[FileState, _Patched]:
        patched = _patched(path, edits, ctx.seen, ctx.change)
        content = patched.before.encoded(patched.after)
        with told(path):
            state = replace_content(path, content, patched.old.state if patched.old else None, is_cancelled)
        return state, patched

    try:
        state, patched = await to_its_end(write)
    except NotReplaced as error:
        return ToolResult(str(error), CallOutcome.ERROR)
    is_known = not patched.before.text or ctx.seen.knows_whole(path)
    ctx.seen.note_written(path, state, is_whole=is_known)
    return ToolResult(await asyncio.to_thread(_result, path, patched))


def _path(args: Arguments) -> str:
    known_only(args, _FIELDS)
    return required_text(args, "path")


def _edits(args: Arguments) -> list[Edit]:
    given = args.get("edits")
    if given is None:
        return [_edit(args)]
    if any(args.get(name) is not None for name in _EDIT_FIELDS):
        raise BadArguments('Give either "old" and "new", or "edits", not both.')
    if not isinstance(given, list) or not 0 < len(given := cast("list[object]", given)) <= MOST_EDITS:
        raise BadArguments(f'"edits" takes a list of 1 to {MOST_EDITS} edits, each with old and new.')
    return [_numbered_edit(item, number) for number, item in enumerate(given, start=1)]


def _numbered_edit(item: object, number: int) -> Edit:
    if not isinstance(item, dict):
        raise BadArguments(f"Edit {number} takes an object with old and new.")
    fields = cast("Mapping[str, object]", item)
    try:
        known_only(fields, _EDIT_FIELDS)
        return _edit(fields)
    except BadArguments as error:
        raise BadArguments(f"Edit {number}: {error}") from error


def _edit(fields: Arguments) -> Edit:
    old = optional_text(fields, "old") if flag(fields, "at_end") else required_text(fields, "old")
    return Edit(old or "", required_text(fields, "new"), flag(fields, "replace_all"), flag(fields, "at_end"))


def _edit_shown(edit: Edit) -> str:
    where = [name for name, is_set in (("everywhere", edit.is_for_all), ("at the end", edit.is_at_end)) if is_set]
    head = f"({', '.join(where)})\n" if where else ""
    return head + "\n".join(
        sign + line for sign, text in (("- ", edit.old), ("+ ", edit.new)) if text for line in text.split("\n")
    )


def _patched(path: Path, edits: Sequence[Edit], seen: SeenFiles, change: FileChange | None = None) -> _Patched:
    """The file with the edits made. Raises NotReplaced."""
    with told(path):
        old = current(path, MOST_BYTES)
        if change is not None and change.base != (old.state.sha256 if old else ""):
            raise NotReplaced(f"{path} changed on disk after this change was looked at. Nothing was written.")
        if old and old.is_large:
            raise NotReplaced(f"{path} is larger than {MOST_BYTES // 1024**2} MB; change it with terminal.")
        if old and (why := seen.why_stale(path, old.state)):
            raise NotReplaced(f"{why} Nothing was written.")
        if old is None and any(edit.old for edit in edits[:1]):
            raise NotReplaced(f"{path} does not exist. To make it, leave old empty, or use write_file.")
        before = whole_text(old.content if old else b"")
    after, places, notes = before.text, 0, list[str]()
    for number, edit in enumerate(edits, start=1):
        head = f"Edit {number}: " if len(edits) > 1 else ""
        try:
            done = edited(after, edit)
        except CannotEdit as error:
            counted = " (Lines are counted as the edits before it leave them.)" if number > 1 else ""
            raise NotReplaced(legal(f"{path} was not changed. {head}{error}{counted}")) from error
        after, places = done.text, places + done.places
        if done.tolerance:
            notes.append(f"({head}found {done.tolerance}.)")
    return _Patched(old, before, after, places, tuple(notes))


def _result(path: Path, patched: _Patched) -> str:
    diff = short_diff(legal(patched.before.text), legal(patched.after))
    places = f"{patched.places:,} place{'' if patched.places == 1 else 's'}"
    verb = "Changed" if patched.old else "Created"
    head = f"{verb} {path} in {places}: +{diff.added:,} -{diff.removed:,} lines."
    return "\n".join(filter(None, (head, *patched.notes, diff.text)))
