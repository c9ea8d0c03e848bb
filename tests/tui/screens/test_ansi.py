"""A theme of the terminal's own colours: it names no other, and what is quiet is dimmed by the terminal."""

from __future__ import annotations

from typing import Any

from rich.style import Style


def styles(d: Any) -> dict[str, Style]:
    strips = d.app.screen._compositor.render_strips()
    return {segment.text.strip(): segment.style for strip in strips for segment in strip if segment.text.strip()}


async def test_quiet_text_is_dimmed_outside_the_transcript_as_in_it(desk: Any) -> None:
    async with desk(theme="ansi") as d:
        await d.write("a draft")
        await d.press("alt+o")  # a toast
        await d.until(lambda: "Nothing was asked" in d.text)
        found = styles(d)
        intro = next(style for text, style in found.items() if "/help lists" in text)
        assert (found["/help"].dim, intro.dim, found["a draft"].dim) == (True, True, None)
        named = {text: style.color for text, style in found.items() if style.color is not None}
        assert {text: color for text, color in named.items() if color.triplet is not None} == {}
