"""Where the words of a YAML text stand, and the comments between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import cast

from msgspec import Struct
from yaml.tokens import FlowEntryToken, ScalarToken, Token

from agent.config.yaml_tree import Loader

_COMMENT = re.compile(r"#[^\r\n]*")
_HEADER = re.compile(r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)")


class Word(Struct, frozen=True):
    """A token that takes up room: from `start` to `end`, counted in characters."""

    start: int
    end: int
    is_comma: bool = False
    is_block: bool = False  # a text after | or >


class Words:
    """All words of a text that is known to be YAML."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = [word for token in _tokens(text) if (word := _word(token, text)).end > word.start]

    def at(self, start: int) -> Word | None:
        """The first word at or after a place."""
        return next((word for word in self._words if word.start >= start), None)

    def last_before(self, start: int, limit: int) -> Word | None:
        """The last word between two places, not counting commas."""
        return next(
            (word for word in reversed(self._words) if start <= word.start < limit and not word.is_comma),
            None,
        )

    def comments_in(self, start: int, end: int) -> list[str]:
        return [text for place, text in self._comments() if start <= place < end]

    def comments(self) -> Counter[str]:
        return Counter(text for _, text in self._comments())

    def _comments(self) -> Iterator[tuple[int, str]]:
        after = 0
        for word in [*self._words, Word(len(self.text), len(self.text))]:
            for found in _COMMENT.finditer(self.text, after, word.start):
                yield found.start(), found[0].rstrip()
            header = _HEADER.match(self.text, word.start) if word.is_block else None
            if header is not None:
                yield header.start(1), header[1].rstrip()
            after = word.end


def _tokens(text: str) -> Iterator[Token]:
    loader = Loader(text)
    while loader.check_token():  # pyright: ignore[reportUnknownMemberType] - its stub says nothing of the choices
        yield cast("Token", loader.get_token())


def _word(token: Token, text: str) -> Word:
    start, end = token.start_mark.index, token.end_mark.index
    is_block = isinstance(token, ScalarToken) and text[start : start + 1] in ("|", ">")
    if is_block:  # it ends where its last line does, not after the blank lines that follow
        end = start + len(text[start:end].rstrip())
    return Word(start, end, isinstance(token, FlowEntryToken), is_block)
