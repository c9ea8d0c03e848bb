"""Rough token counts for text that no provider has priced yet."""

from __future__ import annotations

import re

from session.projection import compiled

_CJK = (
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x2E80, 0x9FFF),  # radicals, kana, CJK ideographs
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul syllables
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),  # full-width forms
    (0x20000, 0x3FFFF),
)
_CJK_RUN = "[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _CJK) + "]+"
_WORD = re.compile(r"\w+")


def text_tokens(text: str) -> int:
    """Tokens of a text, rounded up: four ASCII characters, or four bytes of other scripts, or one CJK character each."""
    if text.isascii():
        return -(-len(text) // 4)
    cjk = sum(1 for char in text if _is_cjk(ord(char)))
    rest = sum(len(char.encode("utf-8", "replace")) for char in text if not _is_cjk(ord(char)))
    return cjk + -(-rest // 4)


def least_tokens(text: str) -> int:
    """The fewest tokens that any tokenizer makes of a text: hardly one joins words, or more than four CJK characters."""
    if text.isascii():
        return len(_WORD.findall(text))
    words = len(_WORD.findall(compiled(_CJK_RUN).sub(" ", text)))
    return words + sum(-(-len(run) // 4) for run in compiled(_CJK_RUN).findall(text))


def _is_cjk(code: int) -> bool:
    return code >= 0x1100 and any(low <= code <= high for low, high in _CJK)
