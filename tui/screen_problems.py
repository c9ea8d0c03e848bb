"""What is wrong in the settings that only the screen can judge: keys, and a theme of the person's own."""

from __future__ import annotations

from agent.config.home import Home
from agent.config.problem import Problem
from agent.config.settings import Settings
from agent.config.theme_names import BUILT_IN, own_themes, theme_file, theme_names


def screen_problems(settings: Settings, home: Home, file: str) -> list[Problem]:
    """Remarks: the screen comes up all the same, with the keys and colours it has. Blocks."""
    found: list[Problem] = []
    if settings.keys:
        from tui.keymap import wrong_keys

        found += [Problem(file, text, key="keys", is_remark=True) for text in wrong_keys(settings.keys)]
    name = settings.display.theme
    if name in own_themes(home.themes):
        from tui.user_themes import read_theme

        path = theme_file(home.themes, name)
        found += read_theme(path, f"{home.shown}/{home.themes.name}/{path.name}", name, is_dark=True).problems
    elif name.lower() not in BUILT_IN:
        text = f"display.theme: there is no theme {name}. There are: {', '.join(theme_names(home.themes))}."
        found.append(Problem(file, text, key="display.theme", is_remark=True))
    return found
