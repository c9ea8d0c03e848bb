"""The one authority on how full the context window is.

A figure rests on the last answer whose provider counted its tokens; only what was appended since is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from agent.context.estimate import message_tokens, text_tokens
from session.models import Message, Role, Route


class FigureSource(StrEnum):
    """What a context figure rests on."""

    PROVIDER = "provider"
    PROVIDER_PLUS_ESTIMATE = "provider+estimate"
    ESTIMATE = "estimate"
    UNKNOWN = "unknown"


class ContextFigure(Struct, frozen=True):
    """Tokens of the conversation as the next request would send it. `window` is None when nobody has told it."""

    used: int
    window: int | None
    source: FigureSource

    @property
    def is_estimate(self) -> bool:
        return self.source is not FigureSource.PROVIDER

    @property
    def percent(self) -> int | None:
        if not self.window:
            return None
        return min(100, round(self.used / self.window * 100))


def measure(rows: Sequence[Message], route: Route, system_prompt: str) -> ContextFigure:
    """The figure for these rows on this route; the same rows give the same figure, live or reopened."""
    sent = [row for row in rows if row.role is not Role.NOTICE]
    if not sent:
        return ContextFigure(0, route.window, FigureSource.UNKNOWN)
    tail = 0
    for row in reversed(sent):
        usage = row.usage
        if usage is not None and usage.prompt > 0:
            source = FigureSource.PROVIDER_PLUS_ESTIMATE if tail else FigureSource.PROVIDER
            return ContextFigure(usage.prompt + usage.output + tail, route.window, source)
        tail += message_tokens(row)
    return ContextFigure(tail + text_tokens(system_prompt), route.window, FigureSource.ESTIMATE)
