"""A theme that a person wrote: a YAML file in the folder `themes` of the home, named like the theme.

base: dark          # what it changes: dark, light, high-contrast or ansi
colors:
  background: "#101418"
  primary: "#7fd5b3"
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct
from textual.color import Color, ColorParseError
from textual.theme import Theme
from yaml import Node
from yaml.nodes import MappingNode

from agent.config.files import NotReadable, read_text
from agent.config.problem import Problem
from agent.config.theme_names import AUTO
from agent.config.yaml_tree import NotYaml, line_of, pairs, parse, text_of
from tui.themes import LOOKS, Base, built_in

FORM = "takes `base: NAME` and `colors:` with `name: colour` lines"
BASES = [name for name in LOOKS if name != AUTO]


class ReadTheme(Struct, frozen=True):
    """A theme and what is wrong in its file. `theme` is None where nothing of it can be used."""

    theme: Theme | None
    problems: tuple[Problem, ...] = ()


def read_theme(path: Path, shown: str, name: str, *, is_dark: bool) -> ReadTheme:
    """Read one file; a colour that is wrong is passed over. `is_dark`: so is the terminal. Blocks; never raises."""
    try:
        root = parse(read_text(path) or "")
    except NotReadable as error:
        return ReadTheme(None, (Problem(shown, f"{error}."),))
    except NotYaml as error:
        return ReadTheme(None, (Problem(shown, f"is no YAML: {error.why}.", error.line),))
    if not isinstance(root, MappingNode):
        return ReadTheme(None, (Problem(shown, f"{FORM}.", 1),))
    reading = _Reading(shown, [])
    base, changes = reading.of(root, is_dark=is_dark)
    return ReadTheme(base.theme(changes, name), tuple(reading.problems))


class _Reading(Struct, frozen=True):
    shown: str
    problems: list[Problem]

    def of(self, root: MappingNode, *, is_dark: bool) -> tuple[Base, dict[str, str]]:
        base = built_in(AUTO, is_dark=is_dark)
        colors: list[tuple[Node, Node]] = []
        for key, value in pairs(root):
            match text_of(key):
                case "base":
                    base = self._base(value, is_dark=is_dark) or base
                case "colors" if isinstance(value, MappingNode):
                    colors = list(pairs(value))
                case "colors":
                    self._tell(value, "colors takes `name: colour` lines.")
                case _:
                    self._tell(key, f"A theme {FORM}.")
        assert base is not None
        return base, dict(self._colors(colors, base))

    def _base(self, value: Node, *, is_dark: bool) -> Base | None:
        name = text_of(value) or ""
        if name not in BASES:
            self._tell(value, f"base takes one of: {', '.join(BASES)}.")
            return None
        return built_in(name, is_dark=is_dark)

    def _colors(self, found: list[tuple[Node, Node]], base: Base) -> Iterator[tuple[str, str]]:
        for key, value in found:
            name, color = text_of(key) or "", text_of(value) or ""
            if name not in base.colors:
                near = get_close_matches(name, base.colors, 1)
                told = f"did you mean {near[0]}?" if near else f"there are: {', '.join(base.colors)}."
                self._tell(key, f"No colour has this name; {told}")
            elif not _is_color(color, is_ansi=base.is_ansi):
                told = "a colour of the terminal, such as ansi_blue" if base.is_ansi else 'a colour, such as "#7fb3d5"'
                self._tell(value, f"{name} takes {told}.")
            else:
                yield name, color

    def _tell(self, node: Node, text: str) -> None:
        self.problems.append(Problem(self.shown, text, line_of(node)))


def _is_color(text: str, *, is_ansi: bool) -> bool:
    try:
        color = Color.parse(text)
    except ColorParseError:
        return False
    return (color.ansi is not None) is is_ansi and not text.startswith("auto")
