"""Reading the small text files of a home, whatever stands in their place."""

from __future__ import annotations

import codecs
import os
import stat
from io import FileIO
from pathlib import Path

LIMIT_BYTES = 1_000_000


class NotReadable(Exception):
    """The file is there but its text can't be had. The text of the error says why and what to do."""


def read_text(path: Path) -> str | None:
    """The text of a file without a byte order mark (T19), None where there is no file. Raises NotReadable."""
    try:
        raw = _read(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise NotReadable(f"it can't be read ({_reason(error)}); correct that") from error
    if len(raw) > LIMIT_BYTES:
        raise NotReadable(f"it is larger than {LIMIT_BYTES:,} bytes; make it smaller")
    raw = raw.removeprefix(codecs.BOM_UTF8)  # the codec that does both is one more import
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotReadable(f"it is not UTF-8 text (line {line}); save it as UTF-8") from error


def _read(path: Path) -> bytes:
    with FileIO(path, opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotReadable("it is not a regular file; put a text file in its place")
        return file.read(LIMIT_BYTES + 1) or b""


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe would otherwise wait for a writer for ever.
    return os.open(path, flags | os.O_NONBLOCK)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or "unknown reason") if isinstance(error, OSError) else "its name is not usable"
