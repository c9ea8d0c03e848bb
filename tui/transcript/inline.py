"""What stands inside a paragraph: inline tokens in, styled runs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from agent.literal import visible
from tui.transcript.palette import Palette
from tui.transcript.wrap import Run

if TYPE_CHECKING:
    from markdown_it.token import Token

BOLD = Style(bold=True)
ITALIC = Style(italic=True)
STRUCK = Style(strike=True)


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
                self._links.append((str(token.attrs.get("href", "")), len(self.runs)))
                self._styles.append(style + self._palette.link)
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
                target = visible(str(token.attrs.get("src", "")))
                self.runs.append((f"image: {token.content} ({target})", style + self._palette.muted))
            case _:
                # An entity may stand for a character that must not reach the terminal as it is.
                text = visible(token.content) if token.type == "text_special" else token.content
                self.runs.append((text, style))

    def _show_target(self) -> None:
        target, first = self._links.pop()
        text = "".join(text for text, _ in self.runs[first:])
        if target not in (text, f"mailto:{text}"):
            self.runs.append((f" ({visible(target)})", self._palette.muted))
