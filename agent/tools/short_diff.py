"""What a change made of a text, in the few lines that a model needs to see that it went right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import unified_diff

from msgspec import Struct

_CONTEXT = 2
_SHOWN_LINES, _SHOWN_CHARS = 60, 200
_COMPARED_LINES = 4_000


class ShortDiff(Struct, frozen=True):
    """`text` is "" where the change spans too much to be compared; then the counts are those of the whole span."""

    added: int
    removed: int
    text: str


def short_diff(before: str, after: str) -> ShortDiff:
    """Unified, without a head; line numbers are those of the files."""
    old, new = _lines(before), _lines(after)
    front = max(0, _same(old, new) - _CONTEXT)
    back = max(0, _same(old[front:][::-1], new[front:][::-1]) - _CONTEXT)
    old, new = old[front : len(old) - back], new[front : len(new) - back]
    if len(old) + len(new) > _COMPARED_LINES:
        return ShortDiff(len(new), len(old), "")
    lines = list(unified_diff(old, new, n=_CONTEXT))[2:]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return ShortDiff(added, removed, _text(lines, front))


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines both begin with."""
    unlike = (number for number, (one, other) in enumerate(zip(old, new, strict=False)) if one != other)
    return next(unlike, min(len(old), len(new)))


def _lines(text: str) -> list[str]:
    """With their ends, as read_file counts them."""
    return re.findall(r"[^\n]*\n|[^\n]+" if "\n" in text else r"[^\r]*\r|[^\r]+", text)


def _text(lines: Sequence[str], front: int) -> str:
    shown = [_line(line, front) for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"({len(lines) - _SHOWN_LINES} more lines of this diff are left out.)")
    return "\n".join(shown)


def _line(line: str, front: int) -> str:
    if line.startswith("@@"):
        _, removed, added, _ = line.split(" ", 3)
        return f"@@ {_moved(removed, front)} {_moved(added, front)} @@"
    text = line.rstrip("\r\n")
    ended = "" if line.endswith(("\n", "\r")) else " ⟨no line end⟩"
    return (text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…") + ended


def _moved(span: str, front: int) -> str:
    """`-3,5` as it is when so many lines stand before."""
    first, comma, count = span[1:].partition(",")
    return f"{span[0]}{int(first) + front}{comma}{count}"
