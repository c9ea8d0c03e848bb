"""Telling an Enter that a person pressed from one that came with pasted text.

A terminal without bracketed paste sends a pasted text as keys, faster than anyone types. The rule (F01, F02):
- an Enter that follows the key before it by 10 ms or more was pressed: it sends;
- a closer one belongs to a burst. If the burst already holds a paste or a line break, it is one more line break;
- else it waits 10 ms: if more of the burst comes, it is a line break; if nothing comes, it sends. So a line that arrives
  together with its Enter (over a slow connection, from an input method, from a script) is still sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

BURST_S = 0.01


class Enter(Enum):
    """What an Enter means."""

    SENDS = auto()
    BREAKS_LINE = auto()
    WAITS = auto()


@dataclass(slots=True)
class Bursts:
    """The burst of input that runs. Times are those of the events, in seconds of the monotonic clock."""

    _last_s: float = float("-inf")
    _is_text: bool = False  # it holds a paste or a line break: what comes with it is text as well

    def key(self, at_s: float) -> None:
        """A key other than Enter."""
        self._is_text = self._is_text and self._runs(at_s)
        self._last_s = at_s

    def paste(self, at_s: float) -> None:
        self._is_text, self._last_s = True, at_s

    def broke_line(self) -> None:
        """An Enter of this burst turned out to be a line break."""
        self._is_text = True

    def enter(self, at_s: float) -> Enter:
        in_burst = self._runs(at_s)
        self._last_s = at_s
        if not in_burst:
            self._is_text = False
            return Enter.SENDS
        return Enter.BREAKS_LINE if self._is_text else Enter.WAITS

    def continues(self, at_s: float) -> bool:
        """Whether input at this time belongs to the burst that runs."""
        return self._runs(at_s)

    def _runs(self, at_s: float) -> bool:
        return at_s - self._last_s < BURST_S
