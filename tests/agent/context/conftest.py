"""Conversations without a server: rows, and a meter that hears of each answer as a session would tell it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from agent.context.gates import Pressure
from agent.context.meter import ContextFigure, Meter, Noted
from agent.context.terms import Terms
from agent.context.weights import ROUGH
from session.models import (
    ApiMode,
    Approval,
    CallOutcome,
    CallResult,
    Message,
    Role,
    Route,
    ToolCall,
    Usage,
)

ROUTE = Route("p", "m", "http://127.0.0.1/v1", ApiMode.CHAT, window=200_000)
TOOLS = ({"function": {"name": "look"}},)
TERMS = Terms(ROUTE, 200_000, "You are hermes. Be brief.", "You are hermes.", lambda: TOOLS, False, ROUGH)


class Conversation:
    """What is said, in order. `column` is what the session's row holds of anchors."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.meter = Meter()
        self.rows: list[Message] = []
        self.column = ""
        self.noted: list[Noted] = []

    def asks(self, text: str) -> None:
        self._add(Role.USER, text)

    def notes(self, text: str) -> None:
        self._add(Role.NOTICE, text)

    def answers(
        self, text: str, usage: Usage | None = None, *, calls: Sequence[str] = (), thinks: str = "", extras: str = ""
    ) -> None:
        made = tuple(ToolCall(call, "look", '{"at": "it"}') for call in calls)
        row = self._row(Role.ASSISTANT, text, calls=made, usage=usage, reasoning=thinks, extras=extras)
        noted = self.meter.note_answer(self.rows, self.column, row, self.terms)
        self.noted.append(noted)
        self.column = noted.column
        self.rows.append(row)

    def results(self, call: str, text: str) -> None:
        result = CallResult(call, "look", CallOutcome.OK, Approval.NOT_ASKED)
        self.rows.append(self._row(Role.TOOL, text, result=result))

    @property
    def figure(self) -> ContextFigure:
        return self.meter.figure(self.rows, self.column, self.terms)

    @property
    def pressure(self) -> Pressure:
        return self.meter.pressure(self.rows, self.column, self.terms)

    def reopened(self) -> ContextFigure:
        """As another process would tell it, from rows that were read anew."""
        rows = [replace(row, content="".join(list(row.content))) for row in self.rows]
        return Meter().figure(rows, self.column, self.terms)

    def _add(self, role: Role, text: str) -> None:
        self.rows.append(self._row(role, text))

    def _row(self, role: Role, text: str, **fields: Any) -> Message:
        return Message("s", role, text, float(len(self.rows)), id=len(self.rows) + 1, **fields)


@pytest.fixture
def terms() -> Terms:
    return TERMS


@pytest.fixture
def talk(terms: Terms) -> Conversation:
    """A conversation with a server that gets no thinking back."""
    return Conversation(terms)


@pytest.fixture
def echoing(terms: Terms) -> Conversation:
    """A conversation with a server that gets its thinking back until the end of the turn."""
    return Conversation(replace(terms, echoes=True))


@pytest.fixture
def new_talk(terms: Terms) -> Callable[[], Conversation]:
    return lambda: Conversation(terms)
