"""The colours of the screen: one dark and one light theme. Everything else names theme variables."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="hermes-dark",
    dark=True,
    background="#15171c",
    surface="#1c1f26",
    panel="#2a2e38",
    foreground="#d8dbe2",
    primary="#7fb3d5",
    secondary="#a3a8b8",
    accent="#d9b36c",
    success="#8cbf88",
    warning="#e0b050",
    error="#e58080",
    variables={
        "border": "#7fb3d5",
        "border-blurred": "#343945",
        "scrollbar": "#343945",
        "scrollbar-hover": "#4a5060",
        "scrollbar-active": "#7fb3d5",
        "scrollbar-background": "#15171c",
        "scrollbar-background-hover": "#15171c",
        "scrollbar-background-active": "#15171c",
        "input-cursor-background": "#d9b36c",
        "input-cursor-foreground": "#15171c",
        "input-selection-background": "#7fb3d5 35%",
        "block-cursor-background": "#2a3a48",
        "block-cursor-foreground": "#eef1f6",
        "block-cursor-text-style": "bold",
    },
)

LIGHT = Theme(
    name="hermes-light",
    dark=False,
    background="#fbfaf7",
    surface="#f2f0ea",
    panel="#e3e0d7",
    foreground="#2a2c33",
    primary="#2a6390",
    secondary="#5d6270",
    accent="#8f5f0a",
    success="#2c7347",
    warning="#8f5f0a",
    error="#b0342b",
    variables={
        "border": "#2a6390",
        "border-blurred": "#cfcbc0",
        "scrollbar": "#cfcbc0",
        "scrollbar-hover": "#aaa698",
        "scrollbar-active": "#2a6390",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "input-cursor-background": "#2a2c33",
        "input-cursor-foreground": "#fbfaf7",
        "input-selection-background": "#2a6390 25%",
        "block-cursor-background": "#d3e1ec",
        "block-cursor-foreground": "#14171d",
        "block-cursor-text-style": "bold",
    },
)

THEMES = {"dark": DARK, "light": LIGHT}


def theme_for(setting: str) -> Theme:
    """The theme that `display.theme` asks for; dark where it names none of ours."""
    return THEMES.get(setting.strip().lower(), DARK)
