"""Text can be read in both themes: 4.5 to 1 against what it stands on, as WCAG 2 asks of small text."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.color import Color

from tui.themes import THEMES
from tui.transcript.palette import palette_of

LEAST = 4.5
DECORATION = {"faint", "prompt_bar"}  # rules and bars


def contrast(style: Style) -> float:
    assert style.color is not None and style.bgcolor is not None
    ink, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    light, dark = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: Color) -> float:
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", THEMES)
def test_each_text_of_the_transcript_stands_out_from_its_ground(theme: str):
    palette = palette_of(THEMES[theme].to_color_system().generate())
    styles = {name: getattr(palette, name) for name in palette.__struct_fields__ if name not in ("syntax", *DECORATION)}
    styles |= palette.syntax
    assert {name: round(contrast(style), 1) for name, style in styles.items() if contrast(style) < LEAST} == {}
