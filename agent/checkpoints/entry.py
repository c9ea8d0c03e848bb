"""What stands at a path at one moment."""

from __future__ import annotations

import os
import stat
from enum import StrEnum

from msgspec import Struct

# Clocks of file systems move in steps: what was written within one of them after it was read has the same time.
SETTLED_NS = 50_000_000
COARSE_SETTLED_NS = 2_000_000_000


class Kind(StrEnum):
    """OPAQUE is there but not kept: too large, unreadable, or no file."""

    FILE = "f"
    LINK = "l"
    FOLDER = "d"
    OPAQUE = "o"


class Entry(Struct, frozen=True, array_like=True, gc=False):
    """`content` is the SHA-256 of a file, the target of a link. The times and the inode tell a change without reading.

    `ctime_ns` is 0 where the file was so fresh when it was read that its times prove nothing.
    """

    kind: Kind
    mode: int = 0
    content: bytes = b""
    size_bytes: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0

    def is_same(self, other: Entry | None) -> bool:
        """Whether a restore would have nothing to do between the two."""
        if other is None or (self.kind, self.mode, self.content) != (other.kind, other.mode, other.content):
            return False
        return self.kind is not Kind.OPAQUE or self.has_same_bytes(other)

    def has_same_bytes(self, other: Entry) -> bool:
        """As far as the file system tells."""
        return (self.size_bytes, self.mtime_ns, self.inode) == (other.size_bytes, other.mtime_ns, other.inode)

    def is_untouched(self, status: os.stat_result) -> bool:
        """Whether nothing at all happened to it since."""
        return (
            self.ctime_ns == status.st_ctime_ns
            and self.mtime_ns == status.st_mtime_ns
            and self.size_bytes == status.st_size
            and self.inode == status.st_ino
        )


def entry_of(kind: Kind, status: os.stat_result, content: bytes = b"", now_ns: int = 0) -> Entry:
    """`now_ns` is when its reading began."""
    coarse = status.st_ctime_ns % 1_000_000_000 == 0
    is_fresh = status.st_ctime_ns > now_ns - (COARSE_SETTLED_NS if coarse else SETTLED_NS)
    return Entry(
        kind,
        0 if kind is Kind.LINK else stat.S_IMODE(status.st_mode),
        content,
        status.st_size,
        status.st_mtime_ns,
        0 if is_fresh else status.st_ctime_ns,
        status.st_ino,
    )


def folder_of(status: os.stat_result) -> Entry:
    """A folder is its mode alone: its times change with whatever happens in it."""
    return Entry(Kind.FOLDER, stat.S_IMODE(status.st_mode))


def is_same(one: Entry | None, other: Entry | None) -> bool:
    return one is other or (one is not None and one.is_same(other))
