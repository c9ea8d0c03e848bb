"""A request made smaller for the wire: long tool results go into files, a glimpse of each stays. The conversation keeps all.

Where a server hangs up on a large request without a word, its size is the likeliest reason.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

LARGE_REQUEST_BYTES = 200_000
LONG_RESULT_CHARS = 100_000
GLIMPSE_CHARS = 2_000  # at each end

Messages = list[dict[str, object]]


class Spilled(Struct, frozen=True):
    """The messages to send, and the size of all of them before and after; equal where nothing could be taken out."""

    messages: Messages
    before_bytes: int
    after_bytes: int


def is_large(messages: Messages) -> bool:
    return _size(messages) > LARGE_REQUEST_BYTES


def spill(messages: Messages, folder: Path) -> Spilled:
    """Put the long tool results into files of a folder, each once. Changes no message. Blocks."""
    smaller = [_without_bulk(message, folder) for message in messages]
    return Spilled(smaller, _size(messages), _size(smaller))


def _size(messages: Messages) -> int:
    return len(msgspec.json.encode(messages))


def _without_bulk(message: dict[str, object], folder: Path) -> dict[str, object]:
    text = message.get("content")
    if message.get("role") != "tool" or not isinstance(text, str) or len(text) <= LONG_RESULT_CHARS:
        return message
    try:
        path = _kept(text.encode("utf-8", "replace"), folder)
    except OSError:  # no room for it: sent as it is
        return message
    left_out = len(text) - 2 * GLIMPSE_CHARS
    notice = f"⟨{left_out:,} characters left out here; all of it is in {path}⟩"
    return {**message, "content": f"{text[:GLIMPSE_CHARS]}\n{notice}\n{text[-GLIMPSE_CHARS:]}"}


def _kept(data: bytes, folder: Path) -> Path:
    """The private file that holds this; its name comes from what is in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"result-{sha256(data).hexdigest()[:16]}.txt"
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    if not path.exists():
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        fresh.replace(path)
    return path
