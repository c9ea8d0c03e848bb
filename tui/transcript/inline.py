"""What stands inside a paragraph: inline tokens in, styled runs out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from agent.literal import visible
from tui.transcript.formulas import readable
from tui.transcript.palette import Palette
from tui.transcript.wrap import Run

if TYPE_CHECKING:
    from markdown_it.token import Token

BOLD = Style(bold=True)
ITALIC = Style(italic=True)
STRUCK = Style(strike=True)

SAFE_TARGET = re.compile(r"(?:https?://|mailto:)[!-~]{1,2000}", re.IGNORECASE)
"""What a terminal may open at a click. All else is shown only."""
BARE_URL = re.compile(r"https?://[^\s<>\"'`|\\\x7f-\U0010ffff]+")


def inline_runs(token: Token, palette: Palette, base: Style) -> list[Run]:
    """The runs of an `inline` token. A link shows its target, so that it can be judged before it is opened."""
    writer = _Writer(palette, base)
    writer.write(token.children or ())
    return writer.runs


class _Writer:
    def __init__(self, palette: Palette, base: Style) -> None:
        self.runs: list[Run] = []
        self._palette = palette
        self._styles = [base]
        self._links: list[tuple[str, int]] = []

    def write(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            self._write(token)

    def _write(self, token: Token) -> None:
        style = self._styles[-1]
        match token.type:
            case "strong_open":
                self._styles.append(style + BOLD)
            case "em_open":
                self._styles.append(style + ITALIC)
            case "s_open":
                self._styles.append(style + STRUCK)
            case "link_open":
                target = str(token.attrs.get("href", ""))
                self._links.append((target, len(self.runs)))
                self._styles.append(style + self._palette.link + opening(target))
            case "link_close":
                self._styles.pop()
                self._show_target()
            case "strong_close" | "em_close" | "s_close":
                self._styles.pop()
            case "softbreak" | "hardbreak":
                self.runs.append(("\n", style))
            case "code_inline":
                self.runs.append((token.content, style + self._palette.code))
            case "image":
                self._write_image(token, style)
            case "formula":
                self.runs.append((readable(token.content).replace("\n", "; "), style + self._palette.code))
            case "footnote":
                self.runs.append((f"[{token.content}]", style + self._palette.accent))
            case "text" if not self._links:
                self._write_text(token.content, style)
            case _:
                # An entity may stand for a character that must not reach the terminal as it is.
                text = visible(token.content) if token.type == "text_special" else token.content
                self.runs.append((text, style))

    def _write_text(self, text: str, style: Style) -> None:
        """Text, in which an address opens as it stands."""
        end = 0
        for found in BARE_URL.finditer(text):
            url = _without_stop(found[0])
            self.runs.append((text[end : found.start()], style))
            self.runs.append((url, style + self._palette.link + opening(url)))
            end = found.start() + len(url)
        self.runs.append((text[end:], style))

    def _write_image(self, token: Token, style: Style) -> None:
        target = str(token.attrs.get("src", ""))
        text = f"[image: {token.content}]" if token.content else "[image]"
        self.runs.append((f"{text} ({visible(target)})", style + self._palette.muted + opening(target)))

    def _show_target(self) -> None:
        target, first = self._links.pop()
        text = "".join(text for text, _ in self.runs[first:])
        if target not in (text, f"mailto:{text}"):
            self.runs.append((f" ({visible(target)})", self._palette.muted + opening(target)))


def opening(target: str) -> Style:
    """What makes text open this target in terminals that can; nothing where it is not safe to."""
    return Style(link=target) if SAFE_TARGET.fullmatch(target) else Style()


def _without_stop(url: str) -> str:
    """An address without what ends the sentence or the brackets around it."""
    while url[-1] in ".,;:!?*_~)]}":
        if url[-1] == ")" and url.count("(") >= url.count(")"):
            break
        url = url[:-1]
    return url
