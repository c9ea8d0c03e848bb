"""Opening a file as text without ever blocking on it, and telling what it is when it is no text."""

from __future__ import annotations

import codecs
import io
import os
import stat
from pathlib import Path
from typing import TextIO

_PROBE_BYTES = 8_192
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SIGNATURES = (
    (b"\x7fELF", "an ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"\xca\xfe\xba\xbe", "a Mach-O or Java program"),
    (b"MZ", "a Windows program"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x89PNG", "a PNG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document packed as one"),
    (b"\x1f\x8b\x08", "gzip data"),
    (b"SQLite format 3\0", "a SQLite database"),
)
_KINDS = (
    (stat.S_ISDIR, "a folder; list it with terminal"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


class NotText(Exception):
    """The path leads to something that cannot be read as text. The text completes "<path> is ..."."""


def open_text(path: Path) -> TextIO:
    """The file from its first character on, BOM removed, invalid bytes as U+FFFD, lines ended by LF alone.

    Raises NotText, OSError.
    """
    _require_regular(path.stat())  # before opening: to open a device or pipe can already act or wait
    raw = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        status = os.fstat(raw.fileno())
        _require_regular(status)
        encoding = _encoding(raw.peek(_PROBE_BYTES)[:_PROBE_BYTES], status.st_size)
    except BaseException:
        raw.close()
        raise
    return io.TextIOWrapper(raw, encoding, errors="replace", newline="\n")


def _require_regular(status: os.stat_result) -> None:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            raise NotText(name)


def _encoding(start: bytes, size_bytes: int) -> str:
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return encoding
    for signature, name in _SIGNATURES:
        # Two bytes may begin a text as well; a program goes on with what no text holds.
        if start.startswith(signature) and (len(signature) > 2 or b"\0" in start):
            raise NotText(f"{name} ({size_bytes:,} bytes), not text")
    if b"\0" in start:
        raise NotText(f"binary ({size_bytes:,} bytes), not text")
    return "utf-8-sig"
