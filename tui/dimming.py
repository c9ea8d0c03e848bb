"""Quiet text in a theme of the terminal's own colours: they can't be mixed, so the terminal dims it itself.

Textual drops the strength of such a colour. The foreground therefore goes through it as a colour that can be mixed, and
what came out of the mixing says whether the text was meant to be quiet.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

STAND_IN = "#ffffff"
OWN_FOREGROUND = "own-foreground"  # the variable for what is drawn without Textual's mixing
_FULL = RichColor.parse(STAND_IN).triplet


class Dimming(LineFilter):
    """Puts the terminal's own colour in the place of the stand-in, dimmed where that was mixed with anything."""

    def __init__(self, foreground: str) -> None:
        super().__init__()
        self._own = Color.parse(foreground).rich_color
        self._put = lru_cache(1024)(self._in_own_colour)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, self._put(style), control)
            if style is not None and _is_mixed(style)
            else Segment(text, style, control)
            for text, style, control in segments
        ]

    def _in_own_colour(self, style: Style) -> Style:
        is_quiet = style.color is not None and style.color.triplet != _FULL
        return style + Style(color=self._own, dim=True if is_quiet else None)


def _is_mixed(style: Style) -> bool:
    """All other colours of such a theme have names."""
    return style.color is not None and style.color.triplet is not None and not style.color.is_system_defined
