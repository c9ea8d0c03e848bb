"""What a construct of Markdown looks like, where the words alone don't tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.strip import Strip

from tui.transcript.blocks import Answer
from tui.transcript.formulas import readable

Draw = Callable[..., list[Strip]]


def text_of(strips: list[Strip]) -> str:
    return "\n".join(strip.text.strip() for strip in strips).strip()


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"\frac{a}{b}", "a/b"),
        (r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}", "x = (-b ± √(b² - 4ac))/2a"),
        (r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}", "∑ᵢ₌₁ⁿ i = n(n+1)/2"),
        (r"\int_0^\infty e^{-x^2}\,dx", "∫₀^∞ e^(-x²) dx"),
        (r"\forall x\in\mathbb{R}: x \leq y", "∀ x ∈ ℝ: x ≤ y"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "(a b; c d)"),
        (r"\begin{aligned} a &= b \\ &= c \end{aligned}", "a = b\n= c"),
        (r"\left( \hat{x} \right)^2", "( x̂ )²"),
        (r"\unknown{x}_2", r"\unknown{x}₂"),
        (r"\frac{a}{", r"\frac{a}{"),
        ("{" * 300 + "}" * 300, "{" * 300 + "}" * 300),
    ],
)
def test_D16_a_formula_reads_as_a_line_and_loses_nothing(formula: str, read: str):
    assert readable(formula) == read


@pytest.mark.parametrize("source", [r"$x_1^2$", r"\(x_1^2\)", "$$\nx_1^2\n$$", "\\[\nx_1^2\n\\]", "$$x_1^2$$"])
def test_D16_a_formula_is_found_by_each_of_its_signs(source: str, draw: Draw):
    assert text_of(draw(Answer(source))) == "x₁²"


@pytest.mark.parametrize(
    "source",
    [
        "It is $5 and $6.",
        "US$5, not $4-$5",
        "echo $HOME and $PATH",
        "$$ only opened",
        "$$\nopen\n\nend",
        r"a \[ b \( c",
    ],
)
def test_money_variables_and_signs_that_do_not_close_are_no_formulas(source: str, draw: Draw):
    drawn = " ".join(text_of(draw(Answer(source))).split())
    assert drawn.replace("[", r"\[").replace("(", r"\(") == " ".join(source.split()) or drawn == " ".join(
        source.split()
    )


@pytest.mark.parametrize(
    ("source", "drawn", "target"),
    [
        ("[a](https://x.org/b)", "a (https://x.org/b)", "https://x.org/b"),
        ("see https://x.org/a_(b)).", "see https://x.org/a_(b)).", "https://x.org/a_(b)"),
        ("<mail@x.org>", "mail@x.org", "mailto:mail@x.org"),
        ("![pic](https://x.org/p.png)", "[image: pic] (https://x.org/p.png)", "https://x.org/p.png"),
        ("[a](ftp://x.org)", "a (ftp://x.org)", None),
        ("[a](/etc/passwd)", "a (/etc/passwd)", None),
        ("`https://x.org`", "https://x.org", None),
    ],
)
def test_D07_a_terminal_opens_only_what_is_shown_and_of_a_safe_kind(
    source: str, drawn: str, target: str | None, draw: Draw
):
    strips = draw(Answer(source))
    assert text_of(strips) == drawn
    assert {segment.style.link for strip in strips for segment in strip if segment.style} - {None} == (
        {target} if target else set()
    )


def test_D16_blocks_within_blocks_lose_nothing_however_deep(draw: Draw):
    source = ">" * 200 + " quoted\n\n" + "".join(f"{'  ' * n}- level{n}\n" for n in range(60))
    drawn = "".join(text_of(draw(Answer(source), cells=100)).split()).replace("▎", "")
    assert all(f"level{n}" in drawn for n in range(60))
    assert "quoted" in drawn


def test_a_table_in_a_quote_keeps_to_the_quote(draw: Draw):
    source = "> | one | two |\n> |---|---|\n" + f"> | {'word ' * 12}| {'more ' * 12}|\n" * 2
    drawn = text_of(draw(Answer(source), cells=60))
    assert drawn.count("word") == drawn.count("more") == 24
