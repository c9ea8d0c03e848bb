"""What is laid over drawn rows without drawing them again: a selection, what was found, where one reads."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.strip import Strip


class Marks(Struct, frozen=True):
    """The styles, laid over those of the text."""

    selected: Style
    hit: Style
    current_hit: Style
    caret_row: Style
    caret: Style


def marks_of(variables: Mapping[str, str], *, is_monochrome: bool = False) -> Marks:
    """The marks of a theme. Where colours can't be mixed, or are not wanted, they reverse and underline."""
    try:
        page, ink, primary, warning = (
            Color.parse(variables[name]) for name in ("background", "foreground", "primary", "warning")
        )
    except (KeyError, ColorParseError):
        return _PLAIN
    if is_monochrome or any(colour.ansi is not None for colour in (page, ink, primary, warning)):
        return _PLAIN

    def ground(colour: Color, strength: float) -> Style:
        return Style(bgcolor=page.blend(colour, strength, alpha=1.0).rich_color)

    return Marks(
        selected=ground(primary, 0.5) + Style(color=ink.rich_color),
        hit=ground(warning, 0.3),
        current_hit=Style(color=page.rich_color, bgcolor=warning.rich_color, bold=True),
        caret_row=ground(ink, 0.09),
        caret=Style(color=page.rich_color, bgcolor=ink.rich_color),
    )


_PLAIN = Marks(
    selected=Style(reverse=True),
    hit=Style(underline=True),
    current_hit=Style(reverse=True, bold=True),
    caret_row=Style(bold=True),
    caret=Style(reverse=True, underline=True),
)


def laid_over(strip: Strip, begin: int, end: int, style: Style) -> Strip:
    """A row with a style over some of its cells."""
    end = min(end, strip.cell_length)
    if begin >= end:
        return strip
    middle = Segment.apply_style(strip.crop(begin, end), post_style=style)
    return Strip.join([strip.crop(0, begin), Strip(middle, end - begin), strip.crop(end)])


def written_over(strip: Strip, at: int, segments: list[Segment]) -> Strip:
    """A row with other text from a cell on."""
    over = Strip(segments)
    return Strip.join([strip.crop(0, at), over, strip.crop(at + over.cell_length)]).crop(0, strip.cell_length)
