"""Thinking that a model wrote into its answer: <think> at the very beginning, told from the rest however it was cut."""

from __future__ import annotations

from enum import Enum

OPEN, CLOSE = "<think>", "</think>"
LONGEST_LEAD = 100  # characters of white space behind which an opening tag still counts


class _At(Enum):
    START = "start"
    THINKING = "thinking"
    GAP = "gap"  # between the closing tag and the first word
    ANSWER = "answer"


class ThinkTags:
    """Splits growing content. A tag anywhere but at its beginning is the answer's own text (A27, A28)."""

    def __init__(self) -> None:
        self._at = _At.START
        self._has_thought = False
        self.held = ""  # what may yet turn out to be a tag, or the white space beside one

    @property
    def is_thinking(self) -> bool:
        return self._at is _At.THINKING

    def split(self, text: str, has_reasoning: bool) -> tuple[str, str]:
        """Thinking and answer in this text. `has_reasoning`: thinking came another way, so a closing tag may be left over."""
        if self._at is _At.ANSWER:
            return "", text
        text, self.held = self.held + text, ""
        if self._at is _At.START:
            text = self._start(text, has_reasoning)
        thinking = ""
        if self._at is _At.THINKING:
            thinking, text = self._think(text)
        return thinking, self._answer(text)

    def end(self) -> tuple[str, str]:
        """What was held back, when nothing more comes."""
        held, self.held = self.held, ""
        if self._at is _At.THINKING:
            return held, ""
        return "", held

    def _start(self, text: str, has_reasoning: bool) -> str:
        """What follows a tag at the beginning; without one, all of it."""
        tags = {OPEN: _At.THINKING, CLOSE: _At.GAP} if has_reasoning else {OPEN: _At.THINKING}
        said = text.lstrip()
        for tag, then in tags.items():
            if said.startswith(tag):
                self._at = then
                return said[len(tag) :]
        if len(text) < LONGEST_LEAD and any(tag.startswith(said) for tag in tags):
            self.held = text
            return ""
        self._at = _At.ANSWER
        return text

    def _think(self, text: str) -> tuple[str, str]:
        if not self._has_thought:
            text = text.lstrip()
        thinking, tag, rest = text.partition(CLOSE)
        if tag:
            self._at = _At.GAP
            return thinking.rstrip(), rest
        body, mark, tail = text.rpartition("<")
        thinking = (body if mark and CLOSE.startswith(mark + tail) else text).rstrip()
        self.held = text[len(thinking) :]
        self._has_thought = self._has_thought or bool(thinking)
        return thinking, ""

    def _answer(self, text: str) -> str:
        if self._at is not _At.GAP:
            return text
        text = text.lstrip()
        if text:
            self._at = _At.ANSWER
        return text
