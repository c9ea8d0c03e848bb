"""The answer under way: what it has said so far, and what of that is saved. A secret in it has given way to its name."""

from __future__ import annotations

import time

from agent.config.masking import MaskedStream, Masking
from agent.providers.base import NOTHING, ReasoningPart, RefusalPart, TextPart
from session.models import Partial
from session.partials import joined

CHECKPOINT_S = 0.5  # how much streamed text a kill may cost


class OpenAnswer:
    """One answer, from its first delta until it is a row or void."""

    def __init__(self, masking: Masking) -> None:
        self._content, self._reasoning, self._refusal = (MaskedStream(masking) for _ in range(3))
        self._said: list[Partial] = []
        self._saved = 0  # how many of the pieces were handed to the store
        self._saved_at = 0.0
        self.is_handed_over = False  # its row is on its way into the store, which nothing stops

    @property
    def said(self) -> Partial:
        return joined(self._said)

    def add(self, part: TextPart | ReasoningPart | RefusalPart) -> Partial:
        """What may be shown now: what could be the beginning of a secret waits for what comes next."""
        match part:
            case TextPart(text):
                piece = Partial(content=self._content.add(text))
            case ReasoningPart(text):
                piece = Partial(reasoning=self._reasoning.add(text))
            case RefusalPart(text):
                piece = Partial(refusal=self._refusal.add(text))
        return self._keep(piece)

    def finish(self) -> Partial:
        """What still waited, when nothing comes any more."""
        return self._keep(Partial(self._content.finish(), self._reasoning.finish(), self._refusal.finish()))

    def unsaved(self) -> Partial:
        """What is to be saved now, nothing where that was done a moment ago."""
        now = time.monotonic()
        if now - self._saved_at < CHECKPOINT_S:
            return NOTHING
        unsaved = joined(self._said[self._saved :])
        self._saved, self._saved_at = len(self._said), now
        return unsaved

    def _keep(self, piece: Partial) -> Partial:
        if piece:
            self._said.append(piece)
        return piece
