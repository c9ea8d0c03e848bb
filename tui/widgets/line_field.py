"""One line of text that a person writes or pastes."""

from __future__ import annotations

import re

from textual.widgets import Input

# They act on the terminal, or on how it shows what follows: control characters, line ends, lone surrogates, directions.
_ACTING = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


class LineField(Input):
    """Holds what can be seen alone, whichever way it came in: Textual would write a pasted sequence to the terminal."""

    def validate_value(self, value: str) -> str:
        return _ACTING.sub("", value).replace("\t", " ")
