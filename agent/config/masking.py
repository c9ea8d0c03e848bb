"""Keeping known secrets out of whatever is shown or kept: each value gives way to its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import cast

MASKED_LENGTH = 6  # a shorter value would blank out ordinary words
LINE_LENGTH = 16  # of a secret of several lines, such as a PEM key, each line of this length is masked by itself
LONG = 20  # of a value this long a few characters may be shown, by which a person tells one key from another
BULLETS = "••••••"

_KIND = re.compile(r"[A-Za-z]{2,5}[-_]")


class Masking:
    """The values known so far, each by its name. A value that was replaced stays known: old errors may quote it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def add(self, name: str, value: str) -> None:
        """Mask this value from now on; one that was known keeps its name."""
        for spelling in _spellings(value.strip()):
            self._names.setdefault(spelling, name)
        self._pattern = None

    @property
    def names(self) -> set[str]:
        return set(self._names.values())

    def text(self, text: str) -> str:
        """The text with the name of each secret in the place of its value."""
        if not self._names:
            return text
        return self._compiled().sub(lambda found: f"[{self._names[found[0]]}]", text)

    def deep(self, value: object) -> object:
        """A JSON value with each text in it masked."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.deep(item) for item in cast("list[object]", value)]
            case dict():
                return {self.text(key): self.deep(item) for key, item in cast("dict[str, object]", value).items()}
            case _:
                return value

    def held_back(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a secret whose rest is still to come."""
        longest = max(map(len, self._names), default=0)
        lengths = range(min(longest - 1, len(text)), 0, -1)
        return next((n for n in lengths if any(value.startswith(text[-n:]) for value in self._names)), 0)

    def _compiled(self) -> re.Pattern[str]:
        # The longest first: a value that begins another one must not leave the rest of it in sight.
        if self._pattern is None:
            values = sorted(self._names, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, values)))
        return self._pattern


class MaskedStream:
    """Text that arrives in pieces, masked also where a secret is cut in two."""

    def __init__(self, masking: Masking, emit: Callable[[str], None]) -> None:
        self._masking = masking
        self._emit = emit
        self._held = ""

    def add(self, text: str) -> None:
        """Pass on what can be no part of a secret any more."""
        text = self._masking.text(self._held + text)
        end = len(text) - self._masking.held_back(text)
        self._held = text[end:]
        if end:
            self._emit(text[:end])

    def finish(self) -> None:
        """Nothing comes any more."""
        held, self._held = self._held, ""
        if held:
            self._emit(held)


def shown_value(value: str) -> str:
    """What may be shown of a secret: of a long one its kind and its last four characters, of a short one nothing."""
    if len(value) < LONG or not value.isprintable():
        return BULLETS
    kind = _KIND.match(value)
    return f"{kind[0] if kind else ''}…{value[-4:]}"


def _spellings(value: str) -> Iterator[str]:
    """A value as it is, and as it stands in JSON, in an address, in Python's own messages, and line by line."""
    from urllib.parse import quote, quote_plus

    legal = value.encode("utf-8", "replace").decode()
    written = (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1])
    whole = (value, *written, quote(legal, safe=""), quote_plus(legal))
    lines = (line.strip() for line in value.splitlines())
    long_lines = (line for line in lines if len(line) >= LINE_LENGTH and not line.startswith("-----"))
    for spelling in (*whole, *long_lines):
        if len(spelling) >= MASKED_LENGTH:
            yield spelling
