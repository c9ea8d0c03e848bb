"""A path as a model reads it: one line, legal text, from the session's folder where it lies in there."""

from __future__ import annotations

import os
import re
from pathlib import Path

_ACTING = re.compile(r"[\x00-\x1f\x7f]")


def shown_path(path: str) -> str:
    """The path with what is no text as U+FFFD, and control characters spelled out."""
    legal = os.fsencode(path).decode("utf-8", "replace")
    return _ACTING.sub(lambda match: f"\\x{ord(match[0]):02x}", legal)


def from_folder(path: Path, cwd: Path) -> str:
    """The shortest that a tool takes for it."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
