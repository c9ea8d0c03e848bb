"""Whether the terminal is dark or light: what it answers to OSC 11, before that what COLORFGBG says.

Nobody waits for the answer, and where none comes the terminal counts as dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from textual.message import Message

ASK_BACKGROUND = "\x1b]11;?\x1b\\"
_ANSWER = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?", re.ASCII | re.I)
_LIGHT_NUMBERS = ("7", "15")  # white and bright white


class TerminalBackground(Message):
    """The terminal told its background."""

    def __init__(self, *, is_dark: bool) -> None:
        super().__init__()
        self.is_dark = is_dark


def can_be_asked(environ: Mapping[str, str]) -> bool:
    """The console of Linux shows such a question instead of reading it."""
    return environ.get("TERM") != "linux"


def told_background(answer: str) -> TerminalBackground | None:
    """What `rgb:1515/1717/1c1c` says, in one to four hexadecimal digits a part; None of anything else."""
    found = _ANSWER.fullmatch(answer)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return TerminalBackground(is_dark=0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def is_dark_by(environ: Mapping[str, str]) -> bool:
    """What rxvt, Konsole and others leave in the environment: `15;0` is white on black."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] not in _LIGHT_NUMBERS
