"""How much is kept, and what is said of what is not."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Limits(Struct, frozen=True):
    """Bounds of what is kept. The two of the walk are for folders without git, where nothing says what is worth keeping.

    `copy_s` is how long a command waits for the first copy; `store_bytes` is for all sessions of a profile, compressed.
    """

    file_bytes: int = 5 * 1024**2
    walk_files: int = 20_000
    walk_bytes: int = 500 * 1024**2
    store_bytes: int = 2 * 1024**3
    copy_s: float = 10.0
    depth: int = 100  # folders in folders; each is open while what is in it is looked at


LIMITS = Limits()


class Why(StrEnum):
    """Why a file is not covered. Completes "it is not covered: ..."."""

    TOO_LARGE = "larger than 5 MB"
    UNREADABLE = "can't be read"
    SPECIAL = "neither a file nor a link"
    IGNORED = "ignored by git"
    REPOSITORY = "a git repository of its own"
    BEYOND = "beyond the 20,000 files and 500 MB that are kept of a folder without git"
    LATE = "not copied yet when the command began"
    FULL = "the store of checkpoints is full"
    OURS = "the folder of hermes itself"
    DEEP = "too many folders deep"
