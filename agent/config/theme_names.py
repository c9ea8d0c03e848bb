"""Which themes there are: those that come with hermes, and a person's own, each a file of the home."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

AUTO = "auto"
BUILT_IN: Mapping[str, str] = {
    AUTO: "dark or light, as the terminal is",
    "dark": "for a dark terminal",
    "light": "for a light terminal",
    "high-contrast": "nothing is faint",
    "ansi": "the 16 colours of the terminal itself",
}
_END = ".yaml"


def theme_file(folder: Path, name: str) -> Path:
    """Where a person's own theme stands."""
    return folder / f"{name}{_END}"


def own_themes(folder: Path) -> list[str]:
    """The names of a person's own themes, in their order. Looks into one folder, which rarely is there."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name.removesuffix(_END) for entry in entries if entry.name.endswith(_END)]
    except OSError:
        return []
    return sorted(name for name in found if name not in BUILT_IN and name.isprintable())


def theme_names(folder: Path) -> list[str]:
    """All of them, the built-in ones first."""
    return [*BUILT_IN, *own_themes(folder)]
