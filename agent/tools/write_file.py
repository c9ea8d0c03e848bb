"""`write_file`: create or replace a text file, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from agent.approvals.paths import resolve
from agent.tools.arguments import known_only, required_text
from agent.tools.base import Arguments, BadArguments, CallContext, FileChange, ToolResult, Touch, Workplace
from agent.tools.replacement import Current, IsCancelled, NotReplaced, current, replace_content, to_its_end, told
from agent.tools.seen_files import MOST_HASHED_BYTES, FileState, SeenFiles
from agent.tools.text_file import UTF_8, form_of, readable
from session.models import CallOutcome

NAME = "write_file"
DESCRIPTION = (
    "Write a text file as UTF-8, exactly as given. Makes missing folders; keeps the mode of a file that it replaces. A "
    "reader never sees half of it. A file that exists is replaced only if all of it was read in this session and it has not "
    "changed since. To change parts of a file, use patch."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or from the session's folder."},
        "content": {"type": "string", "description": "The whole new content."},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}
_FIELDS = ("path", "content")


def touches(args: Arguments, place: Workplace) -> Touch:
    return Touch(writes=(resolve(_read(args)[0], place),))


def shown(args: Arguments) -> str:
    path, content = _read(args)
    return f"{path}\n\n{content}"


def preview(args: Arguments, place: Workplace) -> FileChange:
    """What would be written over. Reads the file, so not for the loop. Raises BadArguments where nothing would be."""
    path, content = resolve(_read(args)[0], place), _read(args)[1]
    try:
        old = _replaceable(path, place.seen)
    except NotReplaced as error:
        raise BadArguments(str(error)) from error
    return FileChange(path, readable(old.content), content, old.state.sha256) if old else FileChange(path, "", content)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path = (ctx.touch or touches(args, ctx.place)).writes[0]
    content = _read(args)[1]

    def write(is_cancelled: IsCancelled) -> tuple[Current | None, FileState]:
        old = _replaceable(path, ctx.seen, ctx.change)
        with told(path):
            return old, replace_content(path, content.encode(), old.state if old else None, is_cancelled)

    try:
        old, state = await to_its_end(write)
    except NotReplaced as error:
        return ToolResult(str(error), CallOutcome.ERROR)
    ctx.seen.note_written(path, state, is_whole=True)
    verb = "Replaced" if old else "Created"
    said = f"{verb} {path}: {_counted(content)}, {state.size_bytes:,} bytes."
    return ToolResult(said + _other_form(old.content, content) if old else said)


def _read(args: Arguments) -> tuple[str, str]:
    known_only(args, _FIELDS)
    return required_text(args, "path"), required_text(args, "content")


def _replaceable(path: Path, seen: SeenFiles, change: FileChange | None = None) -> Current | None:
    """The file that would be replaced, None for a new one. Raises NotReplaced."""
    with told(path):
        old = current(path, MOST_HASHED_BYTES)
    if change is not None and change.base != (old.state.sha256 if old else ""):
        raise NotReplaced(f"{path} changed on disk after this change was looked at. Nothing was written.")
    if why := seen.why_not_replaced(path, old.state if old else None):
        raise NotReplaced(f"{why} Nothing was written.")
    return old


def _other_form(before: bytes, content: str) -> str:
    """What of the old file's form is lost, since a model sees neither."""
    notes: list[str] = []
    if (old := form_of(before)) != UTF_8:
        notes.append(f"The old file was {old.name}, this one is UTF-8.")
    if b"\r\n" in before and "\r\n" not in content and "\n" in content:
        notes.append("The lines of the old file ended in CR LF, these end in LF.")
    return "".join(f" {note}" for note in notes)


def _counted(content: str) -> str:
    lines = content.count("\n") + (bool(content) and not content.endswith("\n"))
    return f"{lines:,} line{'' if lines == 1 else 's'}"
