"""Going through what was written before, with the unsent draft kept at the end of the way (F19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.prompt_history import Earlier, PromptHistory
from tui.widgets.pastes import Pastes


class Recall:
    """Where in the history the composer stands. Anything that is written begins the way anew."""

    def __init__(self, history: PromptHistory, pastes: Pastes) -> None:
        self._history = history
        self._pastes = pastes
        self._entries: Sequence[Earlier] = ()
        self._at = -1  # -1 is the draft itself
        self._draft = ""
        self._shown: str | None = None  # what stands in the composer by our doing

    def is_on_the_way(self, text: str) -> bool:
        return self._at >= 0 and text == self._shown

    async def older(self, text: str, before_cursor: str) -> str | None:
        """The next older entry that begins with what stood before the cursor at first; None at the end. Raises UserError."""
        if not self.is_on_the_way(text):
            every = await self._history.newest()
            self._entries = [one for one in every if one.text.startswith(before_cursor) and one.text != text]
            self._draft, self._at = text, -1
        if self._at + 1 >= len(self._entries):
            return None
        self._at += 1
        return await self._show(self._entries[self._at])

    async def newer(self, text: str) -> str | None:
        """The next newer entry, behind the newest the draft; None where the composer is on no way. Raises UserError."""
        if not self.is_on_the_way(text):
            return None
        self._at -= 1
        if self._at >= 0:
            return await self._show(self._entries[self._at])
        self._shown = None
        return self._draft

    async def _show(self, entry: Earlier) -> str:
        kept: Mapping[str, str] = await self._history.pasted(entry) if entry.labels else {}
        self._shown = self._pastes.adopt(entry.text, {label: kept.get(label) for label in entry.labels})
        return self._shown
