"""An exported file, read twice: once to make sure of all of it, once to store it. In the memory of one line."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from os import fstat
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

import msgspec
from msgspec import Struct

from session.imported import NewerExport, RefusedImport, RefusedLine
from session.jsonl import FORMAT, VERSION, Header, Row, decode_header, decode_row, encode_line, what_was_said
from session.models import EndReason, Kind

# Beyond what people have (a large store holds ten thousand sessions), and within what one transaction can take on.
MOST_BYTES = 8 * 2**30
MOST_SESSIONS = 20_000
MOST_MESSAGES = 200_000  # in one session
MOST_LINE_BYTES = 64 * 2**20


class Entry(Struct, frozen=True):
    """A session of a file: its header, where its rows begin, and a digest of what was said in them."""

    header: Header
    line: int
    offset: int
    digest: str


class Peek(Struct, frozen=True):
    """The first words of a header, whichever version wrote it."""

    format: str = ""
    version: int = 0


class Said:
    """A digest of what was said in the rows that pass."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def through(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            self._hash.update(encode_line(what_was_said(row)).encode())
            yield row

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class JsonlFile:
    """An open file of exported sessions. Everything raises RefusedImport for what is not as it should be."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._line = 0

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Generator[JsonlFile]:
        try:
            with path.open("rb") as file:
                found = fstat(file.fileno())
                if not S_ISREG(found.st_mode):
                    raise RefusedImport(path=path, reason="it is not a file")
                if found.st_size > MOST_BYTES:
                    raise RefusedImport(path=path, reason=f"it is larger than {MOST_BYTES // 2**30} GiB")
                yield cls(path, file)
        except OSError as error:
            raise RefusedImport(path=path, reason=error.strerror or error) from error

    def entries(self) -> list[Entry]:
        """All sessions of the file, each read to its end."""
        entries: list[Entry] = []
        left = 0
        while line := self._next():
            header = self._header(line)
            if entries and left and header.sessions_left != left - 1:
                raise self.refusal("sessions are missing before this one")
            left = header.sessions_left
            entries.append(self._entry(header))
            if len(entries) > MOST_SESSIONS:
                raise RefusedImport(path=self._path, reason=f"it holds more than {MOST_SESSIONS:,} sessions")
        if not entries or left:
            raise RefusedImport(
                path=self._path, reason=f"it ends before {left} more sessions" if left else "it is empty"
            )
        return self._in_order(entries)

    def rows(self, entry: Entry) -> Iterator[Row]:
        """The rows of a session once more; they must say what they said the first time."""
        self._file.seek(entry.offset)
        self._line = entry.line
        said = Said()
        yield from said.through(self._read_rows(entry.header.messages))
        if said.digest != entry.digest:
            raise RefusedImport(path=self._path, reason="it was changed meanwhile")

    def refusal(self, reason: str) -> RefusedLine:
        return RefusedLine(path=self._path, line=self._line, reason=reason)

    def _entry(self, header: Header) -> Entry:
        line, offset, said = self._line, self._file.tell(), Said()
        for number, row in enumerate(said.through(self._read_rows(header.messages)), 1):
            if row.position >= number:
                raise self.refusal("a row stands at the place of one that does not come before it")
            if row.copy_of and header.kind is not Kind.BRANCH:
                raise self.refusal("a row is a copy, and its session is no branch")
            if row.rewound_by > header.rewinds:
                raise self.refusal("a row was set aside by a rewind that its session does not count")
        return Entry(header, line, offset, said.digest)

    def _read_rows(self, count: int) -> Iterator[Row]:
        for _ in range(count):
            line = self._next()
            if not line:
                raise RefusedImport(path=self._path, reason=f"it breaks off behind line {self._line}")
            try:
                yield decode_row(line)
            except (ValueError, RecursionError) as error:
                raise self.refusal(lowered(error)) from error

    def _header(self, line: bytes) -> Header:
        try:
            peek = msgspec.json.decode(line, type=Peek)
            if peek.format != FORMAT:
                raise self.refusal("a session should begin, and something else stands there")
            if peek.version > VERSION:
                raise NewerExport(path=self._path, found=peek.version, known=VERSION)
            header = decode_header(line)
        except (ValueError, RecursionError) as error:
            raise self.refusal(lowered(error)) from error
        if header.messages > MOST_MESSAGES:
            raise self.refusal(f"a session has more than {MOST_MESSAGES:,} messages")
        if (header.parent_id == "") != (header.kind is Kind.ROOT) or header.revision < header.rewinds:
            raise self.refusal("fields of the session contradict each other")
        if header.end_reason is EndReason.DELETED:
            raise self.refusal("a session is deleted")
        if len({(spent.provider, spent.model, spent.day, spent.task) for spent in header.usage}) < len(header.usage):
            raise self.refusal("the usage of one day is told twice")
        return header

    def _next(self) -> bytes:
        """The next line without its end; b"" at the end of the file."""
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self._line += bool(line)
        if len(line) > MOST_LINE_BYTES:
            raise self.refusal(f"there are more than {MOST_LINE_BYTES // 2**20} MiB")
        if line and not line.endswith(b"\n"):
            raise self.refusal("the text breaks off")
        return line

    def _in_order(self, entries: list[Entry]) -> list[Entry]:
        """Parents before those that come from them."""
        named = {entry.header.id: entry for entry in entries}
        if len(named) < len(entries):
            raise RefusedImport(path=self._path, reason="two sessions in it have one id")
        ordered: dict[str, Entry] = {}
        for entry in entries:
            self._place(entry, named, ordered)
        return list(ordered.values())

    def _place(self, entry: Entry, named: dict[str, Entry], ordered: dict[str, Entry]) -> None:
        line = {entry.header.id: entry}
        while (parent_id := next(reversed(line.values())).header.parent_id) and parent_id not in ordered:
            if parent_id in line:
                raise RefusedImport(path=self._path, reason=f"session {parent_id} comes from itself")
            if parent_id not in named:
                raise RefusedImport(path=self._path, reason=f"the parent {parent_id} of a session is not in it")
            line[parent_id] = named[parent_id]
        for id_, descendant in reversed(line.items()):
            ordered.setdefault(id_, descendant)


def lowered(error: Exception) -> str:
    """A reason as a part of a sentence. It may quote the file, so it is kept short and on one line."""
    text = " ".join(str(error).split()).rstrip(".")[:200] or "something cannot be read"
    return text if text[1:2].isupper() else text[0].lower() + text[1:]  # "JSON is malformed" begins with a name
