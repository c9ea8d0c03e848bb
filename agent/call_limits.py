"""How much of what calls give a model gets, and where the rest of it is kept for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

MOST_RESULT_CHARS, MOST_TURN_CHARS = 100_000, 200_000
LEAST_RESULT_CHARS, LEAST_TURN_CHARS = 8_000, 16_000
RESULT_PART, TURN_PART = 0.15, 0.30  # of the window, which is in tokens of about four characters
CHARS_PER_TOKEN = 4
PREVIEW_CHARS = 1_500
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Limits(Struct, frozen=True):
    """In characters: of one result, and of all results of one turn."""

    result: int = MOST_RESULT_CHARS
    turn: int = MOST_TURN_CHARS


def limits_of(window: int | None) -> Limits:
    """What fits a window of so many tokens; None where nobody knows it."""
    if window is None:
        return Limits()
    chars = window * CHARS_PER_TOKEN
    return Limits(
        max(LEAST_RESULT_CHARS, min(MOST_RESULT_CHARS, int(chars * RESULT_PART))),
        max(LEAST_TURN_CHARS, min(MOST_TURN_CHARS, int(chars * TURN_PART))),
    )


def too_long(sizes: Sequence[int], used: int, limits: Limits) -> set[int]:
    """Which of some results are to be cut, by their place: those that are too long by themselves, then the longest ones
    until the rest fits the turn, of which `used` is gone. What a preview would not make shorter stays."""
    cut = {at for at, size in enumerate(sizes) if size > limits.result}
    longest_first = sorted((at for at in range(len(sizes)) if at not in cut), key=lambda at: -sizes[at])
    total = used + sum(PREVIEW_CHARS if at in cut else size for at, size in enumerate(sizes))
    for at in longest_first:
        if total <= limits.turn or sizes[at] <= 2 * PREVIEW_CHARS:
            break
        cut.add(at)
        total -= sizes[at] - PREVIEW_CHARS
    return cut


def spilled(text: str, path: Path) -> str:
    """Keep a result in a private file; what the model gets in its place. Blocks."""
    try:
        # Not what is above them: that would be the home of a profile that was deleted meanwhile.
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, _NEW_FILE, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        return f"{preview(text)}\n{_notice(text)} The whole could not be kept: {error.strerror or error}.⟩"
    return f"{preview(text)}\n{_notice(text)} All of it is in {path}: read parts of it with read_file.⟩"


def shortened(text: str, chars: int) -> str:
    """A result that can be had in parts anyway, without its end: kept in a file, it would only be read again (T11)."""
    head = _to_line_end(text[:chars])
    return f"{head}\n{_notice(text)} Ask for fewer lines at once.⟩"


def preview(text: str) -> str:
    return _to_line_end(text[:PREVIEW_CHARS])


def _to_line_end(text: str) -> str:
    head, newline, _ = text.rpartition("\n")
    return head if newline and len(head) > len(text) // 2 else text


def _notice(text: str) -> str:
    return f"⟨The result has {len(text):,} characters, too many for the room that is left in this turn."
