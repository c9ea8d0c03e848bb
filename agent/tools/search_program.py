"""The search where there is no ripgrep: a process of its own, since a regular expression can take for ever.

It writes what ripgrep would, by the Query of its one argument. Nothing but the standard library is imported here.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from agent.tools.folder_entries import files_below
from agent.tools.globs import path_filter
from agent.tools.ignored import Rules, rules_above
from agent.tools.search_query import Query

MOST_FILE_BYTES = 64 * 1024 * 1024
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # the marks that ripgrep knows, beside the one of UTF-8

Matches = Callable[[str], int]  # where a line matches, -1 where it does not


def main() -> None:
    query = Query.decoded(sys.argv[-1])
    try:
        for record in _records(query):
            sys.stdout.buffer.write(record)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on, which is no trouble to tell of
    except re.error as error:
        sys.stdout.write(f"error: {error}\n")
        sys.exit(2)


def _records(query: Query) -> Iterator[bytes]:
    if query.is_file:
        with open(query.root, "rb") as file:  # noqa: PTH123
            yield from _of_file(b"", _decoded(file.read(MOST_FILE_BYTES)), query, _matcher(query))
        return
    is_wanted = path_filter(query.glob, ignores_case=query.glob_ignores_case)
    matches = _matcher(query) if query.kind != "names" else None
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    rules, path = (Rules(), "") if query.with_ignored else rules_above(Path(query.top))
    for below, handle, name in files_below(folder, path, rules, with_ignored=query.with_ignored):
        shown = os.fsencode(f"./{below}") + b"\0"
        if not is_wanted(below):
            continue
        if matches is None:
            yield shown
        elif content := _content(name, handle):
            yield from _of_file(shown, content, query, matches)


def _matcher(query: Query) -> Matches:
    """Raises re.error."""
    flags = re.IGNORECASE if query.ignores_case else 0
    search = re.compile(re.escape(query.pattern) if query.is_literal else query.pattern, flags).search

    def matches(line: str) -> int:
        found = search(line)
        return found.start() if found else -1

    return matches


def _content(name: str, folder: int) -> bytes:
    """The bytes of a text as UTF-8, b"" for what is none or too large."""
    with suppress(OSError), os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
        return _text(file) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    return b""


def _text(file: BinaryIO) -> bytes:
    content = _decoded(file.read(MOST_FILE_BYTES + 1))
    return b"" if len(content) > MOST_FILE_BYTES or b"\0" in content else content


def _decoded(content: bytes) -> bytes:
    if codec := _UTF_16.get(content[:2]):
        return content[2:].decode(codec, "replace").encode()
    return content.removeprefix(b"\xef\xbb\xbf")


def _of_file(path: bytes, content: bytes, query: Query, matches: Matches) -> Iterator[bytes]:
    path = path or query.root.encode() + b"\0"
    if query.is_literal and not query.ignores_case and query.pattern.encode() not in content:
        return
    lines = _lines(content)
    found = ((number, matches(line.decode("utf-8", "surrogateescape"))) for number, line in enumerate(lines))
    hits = {number: at for number, at in found if at >= 0}
    if query.kind == "counts":
        if hits:
            yield b"%s%d\n" % (path, len(hits))
        return
    done = 0
    for hit in hits:
        for number in range(max(done, hit - query.context), min(len(lines), hit + query.context + 1)):
            at = hits.get(number)
            done = number + 1
            yield path + (_around(number, lines[number]) if at is None else _matching(number, at, lines[number]))


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def _matching(number: int, at: int, line: bytes) -> bytes:
    column = len(line.decode("utf-8", "surrogateescape")[:at].encode("utf-8", "surrogateescape")) + 1
    return b"%d:%d:%s\n" % (number + 1, column, line)


def _around(number: int, line: bytes) -> bytes:
    return b"%d-%s\n" % (number + 1, line)
