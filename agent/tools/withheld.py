"""What commands of tools do not get of the environment, and the one line about it where a command wants it."""

from __future__ import annotations

import re
from collections.abc import Callable, Set

_LISTS_ALL = re.compile(
    r"(?:^|[\n;|&(`])\s*(?:env|printenv|set|export(?:\s+-p)?|declare\s+-p|compgen\s+-v)[ \t]*(?:$|[\n;|&)`>])"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SHOWN_NAMES = 3


class Withheld:
    """The names that one session's commands do not get. Told once in a session: more would bury what a command says."""

    def __init__(self, names: Callable[[], Set[str]]) -> None:
        self._names = names
        self._is_told = False

    def note(self, command: str) -> str:
        """One line for the first command that mentions such a name or lists the environment, else ""."""
        names = [] if self._is_told else self._wanted(command)
        if not names:
            return ""
        self._is_told = True
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        listed = ", ".join(names[:SHOWN_NAMES])
        verb = "is" if len(names) == 1 else "are"
        return (
            f"{listed}{more} {verb} kept from commands, because a key may be in it. "
            f"The setting terminal.env_passthrough lists the names that commands get all the same."
        )

    def _wanted(self, command: str) -> list[str]:
        names = self._names()
        if _LISTS_ALL.search(command):
            return sorted(names)
        return sorted(names & set(_WORD.findall(command)))


NOTHING_WITHHELD = Withheld(frozenset)
