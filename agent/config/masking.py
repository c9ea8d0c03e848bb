"""Keeping known secrets out of whatever is shown or kept: each value gives way to its name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from session.json_columns import with_texts

MASKED_LENGTH = 6  # a shorter value would blank out ordinary words
LINE_LENGTH = 16  # of a secret of several lines, such as a PEM key, each line of this length is masked by itself
LONG = 20  # of a value this long a few characters may be shown, by which a person tells one key from another
BULLETS = "••••••"

_KIND = re.compile(r"[A-Za-z]{2,5}[-_]")


class Masking:
    """The values known so far, each by its name. A value that was replaced stays known: old errors may quote it.

    A text that breaks off in the second half of a value is masked there, too. Any thread may ask.
    """

    def __init__(self) -> None:
        self._names: Mapping[str, str] = {}  # never changed in place: another thread may be reading it
        self._search: _Search | None = None

    def add(self, name: str, value: str) -> None:
        """Mask this value from now on; one that was known keeps its name."""
        self._names = {**dict.fromkeys(_spellings(value.strip()), name), **self._names}

    @property
    def names(self) -> set[str]:
        return set(self._names.values())

    def __bool__(self) -> bool:
        """Whether any secret is known."""
        return bool(self._names)

    def text(self, text: str) -> str:
        """The text with the name of each secret in the place of its value."""
        if not self._names:
            return text
        search = self._current()
        if search.is_clear(text):
            return text
        said, end = search.found(text, 0, len(text))
        return "".join((*said, search.cut(text[end:])))

    def deep(self, value: object) -> object:
        """A JSON value with each text in it masked."""
        return with_texts(value, self.text)

    def json_text(self, raw: str) -> str:
        """What should be JSON, as it stands but for the secrets, also for those that are spelled with escapes."""
        if not self._names or ("\\u" not in raw and "\\/" not in raw):
            return self.text(raw)
        try:
            value: object = json.loads(raw)
            masked = self.deep(value)
        except (ValueError, RecursionError):
            return self.text(raw)
        return self.text(raw) if masked == value else json.dumps(masked, ensure_ascii=False)

    def settled(self, text: str) -> tuple[str, str]:
        """A text that goes on, in two: what is certain of it, masked, and the end of which more must be seen, as it is."""
        if not self._names:
            return text, ""
        search = self._current()
        if search.is_clear(text):
            return text, ""
        said, start = list[str](), 0
        while True:
            pending = search.pending(text, start)
            more, end = search.found(text, start, pending)
            said += more
            if end <= pending:
                return "".join((*said, text[end:pending])), text[pending:]
            start = end  # what looked like the beginning of a secret was the end of another

    def _current(self) -> _Search:
        search = self._search
        if search is None or search.names is not self._names:
            self._search = search = _Search(self._names)
        return search


class _Search:
    """One state of what is known, ready to be looked for."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        # The longest first: a value that begins another one must not leave the rest of it in sight.
        self._values = sorted(names, key=len, reverse=True)
        self._whole = re.compile("|".join(map(re.escape, self._values)))
        heads = {value[:MASKED_LENGTH] for value in names}
        self._heads = {head[:n] for head in heads for n in range(1, MASKED_LENGTH + 1)}
        self._head = re.compile("|".join(map(_head_or_its_beginning, sorted(heads))))

    def is_clear(self, text: str) -> bool:
        """Whether nothing in the text begins like a secret: quick, as it is asked for each delta of an answer."""
        return self._head.search(text) is None

    def found(self, text: str, start: int, stop: int) -> tuple[list[str], int]:
        """The text with each secret that begins before `stop` by its name, up to the end of the last one, and that end."""
        said: list[str] = []
        for secret in self._whole.finditer(text, start):
            if secret.start() >= stop:
                break
            said += (text[start : secret.start()], f"[{self.names[secret[0]]}]")
            start = secret.end()
        return said, start

    def pending(self, text: str, start: int) -> int:
        """Where the end begins that may become a secret with what comes next; the length where there is none."""
        return next((at for at, _ in self._begun(text, start)), len(text))

    def cut(self, text: str) -> str:
        """The text without a secret that it breaks off in, if half of that or more is there."""
        for at, value in self._begun(text, 0):
            if 2 * (len(text) - at) >= len(value):
                return f"{text[:at]}[{self.names[value]}]"
        return text

    def _begun(self, text: str, start: int) -> Iterator[tuple[int, str]]:
        """The values of which the text ends in a beginning, and where each begins."""
        for at in range(max(start, len(text) - len(self._values[0]) + 1), len(text)):
            if text[at : at + MASKED_LENGTH] in self._heads:
                begun = text[at:]
                yield from ((at, value) for value in self._values if value.startswith(begun) and value != begun)


class MaskedStream:
    """Text that arrives in pieces, masked also where a secret is cut in two: in all it is the same as masked at once."""

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._held = ""

    def add(self, text: str) -> str:
        """What may be passed on by now: all that can be no part of a secret any more."""
        said, self._held = self._masking.settled(self._held + text)
        return said

    def finish(self) -> str:
        """The rest, when nothing comes any more."""
        held, self._held = self._held, ""
        return self._masking.text(held)


def shown_value(value: str) -> str:
    """What may be shown of a secret: of a long one its kind and its last four characters, of a short one nothing."""
    if len(value) < LONG or not value.isprintable():
        return BULLETS
    kind = _KIND.match(value)
    return f"{kind[0] if kind else ''}…{value[-4:]}"


def _head_or_its_beginning(head: str) -> str:
    """The pattern of a few characters, or of as many of them as stand at the end of a text."""
    pattern = re.escape(head[-1])
    for character in reversed(head[:-1]):
        pattern = rf"{re.escape(character)}(?:\Z|{pattern})"
    return pattern


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
