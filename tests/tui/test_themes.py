"""Text can be read in every theme: 4.5 to 1 against what it stands on, as WCAG 2 asks of small text, 7 in high contrast."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.style import Style
from textual.color import Color

from tui.background import is_dark_by, told_background
from tui.themes import LOOKS, STEPS, Base
from tui.transcript.palette import palette_of
from tui.user_themes import read_theme

QUIET = 0.68  # how strong the quietest text of the widgets is
DECORATION = {"faint", "prompt_bar"}  # rules and bars
BASES = {base.name: base for look in LOOKS.values() for base in look if not base.is_ansi}


def contrast(style: Style) -> float:
    assert style.color is not None and style.bgcolor is not None
    ink, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    light, dark = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: Color) -> float:
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def least(base: Base) -> float:
    return 7 if "contrast" in base.name else 4.5


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_each_text_of_the_transcript_stands_out_from_its_ground(base: Base):
    palette = palette_of(base.theme().to_color_system().generate())
    styles = {name: getattr(palette, name) for name in palette.__struct_fields__ if name not in ("syntax", *DECORATION)}
    styles |= palette.syntax
    assert {name: round(contrast(style), 1) for name, style in styles.items() if contrast(style) < least(base)} == {}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_each_text_of_the_widgets_stands_out_from_the_grounds_it_has(base: Base):
    variables = base.theme().to_color_system().generate()
    inks = ("primary", "accent", "success", "warning", "error")
    texts = {f"text-{name}": Color.parse(variables[f"text-{name}"]) for name in inks}
    found: dict[str, float] = {}
    for ground in ("background", "surface", "panel"):
        page = Color.parse(variables[ground])
        quiet = page.blend(Color.parse(variables["foreground"]), QUIET, alpha=1)
        for name, ink in {**texts, "quiet": quiet}.items():
            found[f"{name} on {ground}"] = contrast(Style(color=ink.rich_color, bgcolor=page.rich_color))
    for ink, ground in (("mark-text", "mark"), ("cursor-text", "cursor")):
        found[ink] = contrast(Style(color=base.colors[ink], bgcolor=base.colors[ground]))
    assert {name: round(ratio, 1) for name, ratio in found.items() if ratio < least(base)} == {}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_each_step_of_the_context_stands_out_from_its_ground(base: Base):
    steps = {name: base.colors[name] for name in STEPS}
    assert len(set(steps.values())) == len(steps)
    found = {name: contrast(Style(color=color, bgcolor=base.colors["background"])) for name, color in steps.items()}
    assert {name: round(ratio, 1) for name, ratio in found.items() if ratio < least(base)} == {}


# --- a person's own


def test_an_own_theme_changes_a_base_and_each_wrong_line_is_told_and_passed_over(tmp_path: Path):
    file = tmp_path / "mine.yaml"
    file.write_text('base: light\ncolors:\n  primary: "#004455"\n  acent: red\n  error: loud\nmore: 1\n')
    read = read_theme(file, "mine.yaml", "mine", is_dark=True)
    assert read.theme is not None
    assert (read.theme.primary, read.theme.background, read.theme.dark) == ("#004455", "#fbfaf7", False)
    assert [(problem.line, problem.text.split(";")[-1].strip()) for problem in read.problems] == [
        (6, "A theme takes `base: NAME` and `colors:` with `name: colour` lines."),
        (4, "did you mean accent?"),
        (5, 'error takes a colour, such as "#7fb3d5".'),
    ]


@pytest.mark.parametrize("text", ["colors: [\n", "- a\n", ""])
def test_a_file_that_is_no_theme_is_told_and_gives_none(tmp_path: Path, text: str):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    read = read_theme(file, "mine.yaml", "mine", is_dark=True)
    assert read.theme is None
    assert next(problem.line for problem in read.problems) in (1, 2)


# --- dark or light


@pytest.mark.parametrize(
    ("answer", "is_dark"),
    [("rgb:1515/1717/1c1c", True), ("rgb:fb/fa/f7", False), ("rgba:ffff/ffff/ffff/8000", False), ("rgb:f/f/f", False)],
)
def test_a_terminal_tells_whether_it_is_dark(answer: str, is_dark: bool):
    told = told_background(answer)
    assert told is not None
    assert told.is_dark is is_dark


def test_what_is_no_colour_tells_nothing():
    assert [told_background(answer) for answer in ("", "?", "rgb:1/2", "rgb:zz/00/00", "red")] == [None] * 5


def test_colorfgbg_is_believed_where_it_says_white():
    given = ["", "15;0", "0;15", "0;default;15", "0;7", "0;8", "nonsense"]
    assert [is_dark_by({"COLORFGBG": text}) for text in given] == [True, True, False, False, False, True, True]
