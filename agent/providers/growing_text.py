"""A text that comes in many small pieces: joined as it grows, so that it takes little more room than its characters."""

from __future__ import annotations

PIECES = 1_024  # a text of a few characters takes ten times their room, so no more of them wait than this


class GrowingText:
    """Appended to piece by piece, read seldom."""

    def __init__(self) -> None:
        self._joined: list[str] = []
        self._pieces: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._pieces or self._joined)

    @property
    def text(self) -> str:
        return "".join(self._joined) + "".join(self._pieces)

    def add(self, piece: str) -> None:
        if not piece:
            return
        self._pieces.append(piece)
        if len(self._pieces) >= PIECES:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def replace(self, text: str) -> None:
        self._joined, self._pieces = [], []
        self.add(text)
