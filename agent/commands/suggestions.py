"""What could stand where a person writes a command: its name, then its argument."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

MOST = 50


class Suggestion(Struct, frozen=True):
    """`text` takes the place of what was written; `about` says what it is. `is_whole`: nothing need follow it."""

    text: str
    about: str = ""
    shown: str = ""  # where it is not `text`
    is_whole: bool = True


def beginning(found: Sequence[Suggestion], written: str) -> list[Suggestion]:
    """Those that begin with what is written, then those that hold it, each in the order they came."""
    low = written.lower()
    starts = [one for one in found if one.text.lower().startswith(low)]
    return [*starts, *(one for one in found if low in one.text.lower() and one not in starts)][:MOST]
