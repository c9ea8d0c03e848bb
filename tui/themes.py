"""The colours of the screen. Everything else names theme variables; a person's own themes are changes of these."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from textual.theme import Theme

from tui.dimming import OWN_FOREGROUND, STAND_IN

Colors = Mapping[str, str]


NO_CHANGES: Colors = {}

STEPS = ("context-calm", "context-half", "context-high", "context-full")  # how full the context is


class Base(Struct, frozen=True):
    """A built-in theme: all of its colours by their names. A theme of a person is one of these, changed."""

    name: str
    colors: Colors
    is_dark: bool
    is_ansi: bool = False

    def theme(self, changes: Colors = NO_CHANGES, name: str = "") -> Theme:
        """The theme as Textual takes it."""
        colors = {**self.colors, **changes}
        page, edge = colors["background"], colors["edge"]
        own = self._ansi_variables(colors) if self.is_ansi else {"text-disabled": "auto 68%"}  # of placeholders
        return Theme(
            name=name or self.name,
            dark=self.is_dark,
            ansi=self.is_ansi,
            background=page,
            surface=colors["surface"],
            panel=colors["panel"],
            foreground=colors["foreground"],
            primary=colors["primary"],
            secondary=colors["secondary"],
            accent=colors["accent"],
            success=colors["success"],
            warning=colors["warning"],
            error=colors["error"],
            variables={
                "border": colors["primary"],
                "border-blurred": edge,
                "scrollbar": edge,
                "scrollbar-hover": colors["edge-lit"],
                "scrollbar-active": colors["primary"],
                "scrollbar-background": page,
                "scrollbar-background-hover": page,
                "scrollbar-background-active": page,
                "input-cursor-background": colors["cursor"],
                "input-cursor-foreground": colors["cursor-text"],
                "input-selection-background": colors["selection"],
                "block-cursor-background": colors["mark"],
                "block-cursor-foreground": colors["mark-text"],
                "block-cursor-text-style": "bold",
                **{step: colors[step] for step in STEPS},
                **own,
            },
        )

    def _ansi_variables(self, colors: Colors) -> dict[str, str]:
        """What Textual asks of an ANSI theme only. Without grounds a modal would show what is under it."""
        black, white = ("ansi_black", "ansi_white") if self.is_dark else ("ansi_white", "ansi_black")
        return {
            "foreground": STAND_IN,
            OWN_FOREGROUND: colors["foreground"],
            "surface": colors["surface"],
            "panel": colors["panel"],
            "ansi-background": black,
            "ansi-foreground": white,
            "input-cursor-text-style": "none",
        }


DARK_COLORS: Colors = {
    "background": "#15171c",
    "surface": "#1c1f26",
    "panel": "#2a2e38",
    "edge": "#343945",
    "edge-lit": "#4a5060",
    "foreground": "#d8dbe2",
    "primary": "#7fb3d5",
    "secondary": "#a3a8b8",
    "accent": "#d9b36c",
    "success": "#8cbf88",
    "warning": "#e0b050",
    "error": "#e58080",
    "cursor": "#d9b36c",
    "cursor-text": "#15171c",
    "selection": "#7fb3d5 35%",
    "mark": "#2a3a48",
    "mark-text": "#eef1f6",
    "context-calm": "#8cbf88",
    "context-half": "#d3c66a",
    "context-high": "#e39b5b",
    "context-full": "#f07f7f",
}

LIGHT_COLORS: Colors = {
    "background": "#fbfaf7",
    "surface": "#f2f0ea",
    "panel": "#e7e4dc",
    "edge": "#cfcbc0",
    "edge-lit": "#aaa698",
    "foreground": "#2a2c33",
    "primary": "#2a6390",
    "secondary": "#5d6270",
    "accent": "#8f5f0a",
    "success": "#2c7347",
    "warning": "#8f5f0a",
    "error": "#b0342b",
    "cursor": "#2a2c33",
    "cursor-text": "#fbfaf7",
    "selection": "#2a6390 25%",
    "mark": "#d3e1ec",
    "mark-text": "#14171d",
    "context-calm": "#2c7347",
    "context-half": "#75640a",
    "context-high": "#9c4f00",
    "context-full": "#b0342b",
}

CONTRAST_DARK_COLORS: Colors = {
    "background": "#000000",
    "surface": "#0c0d10",
    "panel": "#1d1f24",
    "edge": "#8a8f9c",
    "edge-lit": "#b9bec9",
    "foreground": "#ffffff",
    "primary": "#8fd0ff",
    "secondary": "#cdd2de",
    "accent": "#ffd479",
    "success": "#8ff0a4",
    "warning": "#ffd24a",
    "error": "#ff9c9c",
    "cursor": "#ffd479",
    "cursor-text": "#000000",
    "selection": "#8fd0ff 35%",
    "mark": "#12456b",
    "mark-text": "#ffffff",
    "context-calm": "#8ff0a4",
    "context-half": "#fff07a",
    "context-high": "#ffb86b",
    "context-full": "#ff9c9c",
}

CONTRAST_LIGHT_COLORS: Colors = {
    "background": "#ffffff",
    "surface": "#f6f6f4",
    "panel": "#e8e8e4",
    "edge": "#6b6b66",
    "edge-lit": "#45453f",
    "foreground": "#000000",
    "primary": "#003e73",
    "secondary": "#34373f",
    "accent": "#5c3a00",
    "success": "#00461c",
    "warning": "#5c3a00",
    "error": "#7d0000",
    "cursor": "#000000",
    "cursor-text": "#ffffff",
    "selection": "#003e73 25%",
    "mark": "#c9dff2",
    "mark-text": "#000000",
    "context-calm": "#00461c",
    "context-half": "#4f4300",
    "context-high": "#6e3000",
    "context-full": "#7d0000",
}

# The terminal's own colours, as the person set them; nothing is known of them but their names.
_ANSI = dict.fromkeys(("background", "surface", "panel", "foreground"), "ansi_default")

ANSI_DARK_COLORS: Colors = {
    **_ANSI,
    "edge": "ansi_bright_black",
    "edge-lit": "ansi_white",
    "primary": "ansi_bright_cyan",
    "secondary": "ansi_cyan",
    "accent": "ansi_bright_yellow",
    "success": "ansi_bright_green",
    "warning": "ansi_bright_yellow",
    "error": "ansi_bright_red",
    "cursor": "ansi_white",
    "cursor-text": "ansi_black",
    "selection": "ansi_cyan",
    "mark": "ansi_cyan",
    "mark-text": "ansi_black",
    "context-calm": "ansi_bright_green",
    "context-half": "ansi_bright_yellow",
    "context-high": "ansi_bright_magenta",
    "context-full": "ansi_bright_red",
}

ANSI_LIGHT_COLORS: Colors = {
    **_ANSI,
    "edge": "ansi_white",
    "edge-lit": "ansi_bright_black",
    "primary": "ansi_blue",
    "secondary": "ansi_magenta",
    "accent": "ansi_magenta",
    "success": "ansi_green",
    "warning": "ansi_red",
    "error": "ansi_red",
    "cursor": "ansi_black",
    "cursor-text": "ansi_bright_white",
    "selection": "ansi_blue",
    "mark": "ansi_blue",
    "mark-text": "ansi_bright_white",
    "context-calm": "ansi_green",
    "context-half": "ansi_blue",
    "context-high": "ansi_magenta",
    "context-full": "ansi_red",
}

DARK = Base("hermes-dark", DARK_COLORS, is_dark=True)
LIGHT = Base("hermes-light", LIGHT_COLORS, is_dark=False)
CONTRAST_DARK = Base("hermes-contrast-dark", CONTRAST_DARK_COLORS, is_dark=True)
CONTRAST_LIGHT = Base("hermes-contrast-light", CONTRAST_LIGHT_COLORS, is_dark=False)
ANSI_DARK = Base("hermes-ansi-dark", ANSI_DARK_COLORS, is_dark=True, is_ansi=True)
ANSI_LIGHT = Base("hermes-ansi-light", ANSI_LIGHT_COLORS, is_dark=False, is_ansi=True)

# By their names in display.theme (agent/config/theme_names.py): for a dark terminal, for a light one.
LOOKS: Mapping[str, tuple[Base, Base]] = {
    "auto": (DARK, LIGHT),
    "dark": (DARK, DARK),
    "light": (LIGHT, LIGHT),
    "high-contrast": (CONTRAST_DARK, CONTRAST_LIGHT),
    "ansi": (ANSI_DARK, ANSI_LIGHT),
}


def built_in(name: str, *, is_dark: bool) -> Base | None:
    """The built-in theme of a name, on a dark terminal or a light one."""
    look = LOOKS.get(name)
    return None if look is None else look[0 if is_dark else 1]
