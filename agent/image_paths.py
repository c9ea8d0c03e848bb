"""Paths of images as a person gives them: typed, or dragged into a terminal, which quotes or escapes them or makes addresses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

MOST_CHARS = 16_000

_BEGINS = re.compile(r"\s*['\"]?(?:~?/|\.{1,2}/|file:/)")
_ENDS = re.compile(r"\.(?:png|jpe?g|gif|webp)['\"]?\s*\Z", re.IGNORECASE)


def may_name_images(text: str) -> bool:
    """Whether a pasted text is worth a look at the disk. A name alone is a word like any other."""
    return len(text) <= MOST_CHARS and bool(_BEGINS.match(text) and _ENDS.search(text))


def paths_in(text: str, folder: Path) -> list[Path]:
    """What a text names, seen from a folder: a line is one path where such a file is there, else one or more words.

    Looks at the disk. Nothing is said of the files but that; [] for a text that is no list of paths.
    """
    found: list[Path] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        whole = _path(line, folder)
        if whole is not None and _is_file(whole):
            found.append(whole)
            continue
        try:
            words = [_path(word, folder) for word in shlex.split(line)]
        except ValueError:
            return []
        found += [word for word in words if word is not None]
    return found


def _path(word: str, folder: Path) -> Path | None:
    if word.startswith("file:"):
        word = unquote(urlsplit(word).path)
    try:
        return folder / Path(word).expanduser()
    except RuntimeError:
        return None  # nobody's home


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
