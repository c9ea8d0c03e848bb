"""What the screen says of keys is true when a person chose others."""

from __future__ import annotations

from typing import Any

import pytest

from tui.hints import filled

KEYS = """keys:
  main.interrupt: f8
  main.take_back: f12
  main.outline: f9
  outline.decide: f10
  outline.leave: [f11, escape]
  reading.leave: q
  reading.find: s
"""


async def test_hints_name_the_keys_that_were_chosen(desk: Any, script: Any) -> None:
    gate = script.holds("working")
    async with desk(config=KEYS) as d:
        await d.send("first")
        await d.until(lambda: "f8 interrupts" in d.text)
        await d.send("second")
        await d.until(lambda: "f12 takes the newest back" in d.text)
        await d.press("f9")
        await d.until(lambda: "f10 goes there · f11 closes" in d.text)
        await d.press("f11", "f6")
        await d.until(lambda: "q back · s find" in d.text)
        await d.press("q", "f12", "f8")
        await d.idle()
        assert d.draft == "second"
        gate.set()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{search.above search.below} choose", "↑↓ choose"),
        ("{approval.page_up approval.page_down} read on", "pgup/pgdn read on"),
        ("{main.search} finds {not a name}", "f3 finds {not a name}"),
    ],
)
def test_a_hint_is_filled_with_the_first_key_of_each_name(text: str, told: str) -> None:
    assert filled(text, {"main.search": "f3,f4"}) == told
