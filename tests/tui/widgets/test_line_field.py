"""A line holds what can be seen, whichever way it came in."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.events import Paste

from tui.widgets.line_field import LineField

ACTING = st.sampled_from(
    ["\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\x00", "\x08\x08", "\r", "\u202e", "\u2067", "\ud83d"]
)


class Desk(App[None]):
    def compose(self) -> ComposeResult:
        yield LineField("\x1b[31mred")


@given(st.lists(st.one_of(st.text(), ACTING)).map("".join))
def test_no_text_of_a_field_acts_on_the_terminal(text: str) -> None:
    kept = LineField().validate_value(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in kept)
    assert not set(kept) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


async def test_what_can_be_seen_of_a_paste_is_kept_and_typing_goes_on_behind_it() -> None:
    async with Desk().run_test() as pilot:
        field = pilot.app.query_one(LineField)
        assert field.value == "[31mred"
        field.value = ""
        field.focus()
        field.post_message(Paste("na\x1b]0;x\x07me\tof 👩‍💻 é\nnext line"))
        await pilot.pause()
        await pilot.press("!")
        assert field.value == "na]0;xme of 👩‍💻 é!"
