"""Whether a glob such as `src/**` covers a file: anchored at the workspace, so that `vendor/src/a.py` is not meant (C27)."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from agent.approvals.paths import real


def covers(pattern: str, path: Path, root: Path) -> bool:
    """By the real path. `*` and `?` stay within a folder, `**` is any number of folders; outside the workspace is never."""
    base = real(root)
    leads = real(path)
    if not leads.is_relative_to(base) or leads == base:
        return False
    return _compiled(pattern.removeprefix("./")).fullmatch(leads.relative_to(base).as_posix()) is not None


@lru_cache(maxsize=200)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = pattern.strip("/").split("/")
    told = [_part(part) for part in parts[:-1]]
    last = ".+" if parts[-1] == "**" else _one(parts[-1])
    return re.compile("".join(told) + last, re.DOTALL)


def _part(part: str) -> str:
    return "(?:[^/]+/)*" if part == "**" else f"{_one(part)}/"


def _one(part: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)) for char in part)
