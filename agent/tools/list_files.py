"""`list_files`: what lies in a folder, as a tree or as paths."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from agent.approvals.paths import resolve
from agent.tools.arguments import flag, known_only, optional_text, whole_number
from agent.tools.base import Arguments, CallContext, ToolResult, Touch, Workplace
from agent.tools.folder_entries import entries_of, is_folder, subfolder
from agent.tools.ignored import Rules, rules_above
from agent.tools.opened import listable
from agent.tools.shown_path import shown_path
from session.models import CallOutcome

DEPTH, MOST_DEPTH = 2, 20
ENTRIES, MOST_ENTRIES = 300, 2_000

NAME = "list_files"
DESCRIPTION = (
    "List what lies in a folder, in order of names: `name/` is a folder, `name/ …` one that was not looked into, "
    "`name -> target` a link, which is not followed; a file has its size. What .gitignore files leave out is left out, and "
    f"so is .git; other names that begin with a dot are there. Without limit, {ENTRIES} entries; what lies nearer to the "
    "folder comes first."
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The folder. Default: the session's folder."},
        "depth": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_DEPTH,
            "description": f"How many folders deep. Default {DEPTH}.",
        },
        "flat": {"type": "boolean", "description": "Whole paths, a line each, instead of a tree."},
        "ignored": {"type": "boolean", "description": "Also what .gitignore files leave out."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_ENTRIES,
            "description": f"How many entries. Default {ENTRIES}.",
        },
    },
    "additionalProperties": False,
}
_FIELDS = ("path", "depth", "flat", "ignored", "limit")
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


@dataclass(slots=True)
class _Node:
    """`mark` is what is told of it behind its name. `below` is what was looked up in a folder, `more` what of it was not kept."""

    name: str
    mark: str = ""
    is_folder: bool = False
    is_opened: bool = False
    below: list[_Node] = field(default_factory=list["_Node"])
    more: int = 0


class _Wanted(Struct, frozen=True):
    depth: int
    limit: int
    with_ignored: bool


def touches(args: Arguments, place: Workplace) -> Touch:
    return Touch(reads=(resolve(_path(args), place),))


def shown(args: Arguments) -> str:
    return _path(args)


async def run(args: Arguments, ctx: CallContext) -> ToolResult:
    path = (ctx.touch or touches(args, ctx.place)).reads[0]
    wanted = _Wanted(
        depth=whole_number(args, "depth", default=DEPTH, least=1, most=MOST_DEPTH),
        limit=whole_number(args, "limit", default=ENTRIES, least=1, most=MOST_ENTRIES),
        with_ignored=flag(args, "ignored"),
    )
    try:
        look = await asyncio.to_thread(_looked_up, path, wanted)
    except OSError as error:
        return ToolResult(f"{path} could not be listed: {error.strerror or error}.", CallOutcome.ERROR)
    lines = _paths(look.root) if flag(args, "flat") else _tree(look.root)
    return ToolResult("\n".join((f"{path}/", *lines, _told(look))))


def _path(args: Arguments) -> str:
    known_only(args, _FIELDS)
    return optional_text(args, "path") or "."


def _looked_up(path: Path, wanted: _Wanted) -> _Look:
    """Raises OSError."""
    above, base = (Rules(), "") if wanted.with_ignored else rules_above(path)
    folder = listable(path)
    try:
        look = _Look(folder, base, wanted)
        look.go(above)
        return look
    finally:
        os.close(folder)


class _Look:
    """A look at a folder, level by level, so that the nearest come first where not all are to be told."""

    def __init__(self, folder: int, base: str, wanted: _Wanted) -> None:
        self._folder = folder
        self._base = base  # from the top of the rules to the folder
        self._wanted = wanted
        self.root = _Node("", is_folder=True)
        self.entries = 0
        self.ignored = 0

    def go(self, above: Rules) -> None:
        level = [("", self.root, above)]
        for _ in range(self._wanted.depth):
            level = [step for path, node, rules in level for step in self._fill(path, node, rules)]

    def _fill(self, path: str, node: _Node, above: Rules) -> list[tuple[str, _Node, Rules]]:
        """Look up what lies in a folder of this level; the folders among it are of the next."""
        room = self._wanted.limit - self.entries
        if room <= 0:
            return []
        try:
            with subfolder(self._folder, path) as handle:
                from_top = "/".join(filter(None, (self._base, path)))
                found = entries_of(handle, from_top, above, with_ignored=self._wanted.with_ignored)
                node.below = [_node(entry, handle) for entry in found.entries[:room]]
        except OSError as error:
            if node is self.root:
                raise
            node.mark = f"({error.strerror})"
            return []
        node.is_opened, node.more = True, len(found.entries) - len(node.below)
        self.entries += len(node.below)
        self.ignored += found.ignored
        base = f"{path}/" if path else ""
        return [(base + one.name, one, found.rules) for one in node.below if one.is_folder]


def _node(entry: os.DirEntry[str], folder: int) -> _Node:
    if is_folder(entry):
        return _Node(entry.name, is_folder=True)
    try:
        if entry.is_symlink():
            return _Node(entry.name, f"-> {shown_path(os.readlink(entry.name, dir_fd=folder))}")
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return _Node(entry.name, f"({error.strerror})")
    return _Node(entry.name, _size(status.st_size) if stat.S_ISREG(status.st_mode) else "(not a file)")


def _size(size_bytes: int) -> str:
    power = min((len(str(size_bytes)) - 1) // 3, len(_SIZES) - 1)
    size = size_bytes / 1_000**power
    return f"{size:.1f} {_SIZES[power]}" if power and size < 10 else f"{size:.0f} {_SIZES[power]}"


def _tree(node: _Node, indent: str = "") -> Iterator[str]:
    for one in node.below:
        yield f"{indent}{_line(one)}"
        yield from _tree(one, indent + "  ")
    if node.more:
        yield f"{indent}({node.more:,} more here)"


def _paths(node: _Node, base: str = "") -> Iterator[str]:
    for one in node.below:
        yield f"{base}{_line(one)}"
        yield from _paths(one, f"{base}{shown_path(one.name)}/")
    if node.more:
        yield f"({node.more:,} more in {base or 'this folder'})"


def _line(node: _Node) -> str:
    name = shown_path(node.name) + "/" * node.is_folder
    if node.is_folder and not node.is_opened and not node.mark:
        return f"{name} …"
    return f"{name}  {node.mark}" if node.mark else name


def _told(look: _Look) -> str:
    counted = f"{look.entries:,} entr{'y' if look.entries == 1 else 'ies'}"
    ignored = f", {look.ignored:,} left out by .gitignore" if look.ignored else ""
    return f"({counted}{ignored}.)"
