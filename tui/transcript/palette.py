"""Every style of the transcript, made from the theme's own variables: one palette per theme, no colour of our own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from rich.style import Style
from textual.color import Color, ColorParseError

from tui.dimming import OWN_FOREGROUND


class Palette(Struct, frozen=True):
    """Styles with foreground and background set, ready for segments."""

    text: Style
    muted: Style
    faint: Style
    strong: Style
    accent: Style
    heading: Style
    link: Style
    code: Style
    block: Style
    block_label: Style
    prompt: Style
    prompt_bar: Style
    ok: Style
    warning: Style
    error: Style
    syntax: Mapping[str, Style]


def palette_of(variables: Mapping[str, str], *, is_monochrome: bool = False) -> Palette:
    """The palette of a theme, from its CSS variables (`app.theme_variables`); greys only where colour is not wanted."""
    own = variables.get(OWN_FOREGROUND, variables.get("foreground", "ansi_default"))
    ink = _Ink({**variables, "foreground": own}, is_monochrome)
    page = ink.on("background")
    raised = ink.on("surface")
    return Palette(
        text=page("foreground"),
        muted=page("foreground", 0.68),
        faint=page("foreground", 0.4),
        strong=page("foreground") + Style(bold=True),
        accent=page("text-primary"),
        heading=page("text-primary") + Style(bold=True),
        link=page("text-primary") + Style(underline=True),
        code=page("text-accent"),
        block=raised("foreground"),
        block_label=raised("foreground", 0.68),
        prompt=raised("foreground"),
        prompt_bar=raised("primary"),
        ok=page("text-success"),
        warning=page("text-warning"),
        error=page("text-error"),
        syntax={
            "comment": raised("foreground", 0.68) + Style(italic=True),
            "keyword": raised("text-primary"),
            "name": raised("text-secondary"),
            "string": raised("text-success"),
            "number": raised("text-accent"),
            "removed": raised("text-error"),
            "added": raised("text-success"),
        },
    )


class _Ink:
    """Mixes theme colours. A variable that is no plain colour falls back to the foreground."""

    def __init__(self, variables: Mapping[str, str], is_monochrome: bool) -> None:
        self._variables = variables
        self._is_monochrome = is_monochrome

    def on(self, ground: str) -> _Pen:
        return _Pen(self, self.colour(ground))

    def colour(self, name: str) -> Color:
        plain = self._variables.get("foreground", "ansi_default")
        try:
            colour = Color.parse(
                self._variables.get(name, plain)
            )  # a failure costs 2 ms: Textual looks for a near name
        except ColorParseError:
            colour = Color.parse(plain)
        return colour.monochrome if self._is_monochrome and colour.ansi is None else colour


class _Pen:
    """Writes in theme colours on one background."""

    def __init__(self, ink: _Ink, ground: Color) -> None:
        self._ink = ink
        self._ground = ground

    def __call__(self, name: str, strength: float = 1.0) -> Style:
        """A style in this colour; a weaker `strength` mixes it into the background (dim where colours can't mix)."""
        colour = self._ink.colour(name)
        is_ansi = colour.ansi is not None or self._ground.ansi is not None
        if is_ansi:
            return Style(color=colour.rich_color, bgcolor=self._ground.rich_color, dim=True if strength < 1 else None)
        mixed = self._ground.blend(colour, strength, alpha=1.0)
        return Style(color=mixed.rich_color, bgcolor=self._ground.rich_color)
