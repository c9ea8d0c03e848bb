"""The body of a Chat Completions answer, piece by piece: a stream of events, one JSON value, or a web page."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from agent.providers.answer import Answer, Part
from agent.providers.faults import Fault, fault_in, fault_of_body, is_page
from agent.providers.sse import EventReader, ServerEvent
from agent.providers.wire_json import as_object, parsed

LARGEST_JSON_BYTES = 32_000_000


class Shape(Enum):
    """What the first bytes say a body is. Content types are not to be trusted, or missing (A35)."""

    UNKNOWN = "unknown"
    EVENTS = "events"
    JSON = "json"
    PAGE = "page"


class Body:
    """Reads a body into an Answer. Pure: fed with bytes, cut anywhere."""

    def __init__(self, tools: Collection[str]) -> None:
        self.answer = Answer(tools)
        self.fault: Fault | None = None
        self.shape = Shape.UNKNOWN
        self.has_chunks = False
        self.is_done = False  # the server said [DONE]
        self.is_broken = False  # a line that should be JSON is not
        self._events = EventReader()
        self._json = bytearray()

    @property
    def has_finish(self) -> bool:
        """The answer is whole, though more may come behind it (usage, [DONE])."""
        return self.is_done or self.answer.has_finish

    @property
    def is_over(self) -> bool:
        """Nothing that may still come would count."""
        return self.is_done or self.is_broken or self.fault is not None or self.shape is Shape.PAGE

    def feed(self, piece: bytes) -> list[Part]:
        if self.shape is Shape.UNKNOWN:
            self.shape = _shape(piece)
        match self.shape:
            case Shape.EVENTS:
                return self._read(self._events.feed(piece))
            case Shape.JSON:
                self._json += piece
                self.is_broken = len(self._json) > LARGEST_JSON_BYTES
                return []
            case Shape.UNKNOWN | Shape.PAGE:
                return []

    def end(self) -> list[Part]:
        """The rest, when no more bytes come."""
        if self.shape is Shape.JSON and not self.is_broken:
            return self._read_whole()
        was_broken = self.is_broken
        parts = self._read(self._events.end())
        self.is_broken = was_broken  # a last line without its end is cut, not wrong
        return parts

    def _read(self, events: list[ServerEvent]) -> list[Part]:
        parts: list[Part] = []
        for event in events:
            if self.is_over:
                break
            parts += self._read_event(event)
        return parts

    def _read_event(self, event: ServerEvent) -> list[Part]:
        data = event.data
        if data.startswith("[DONE]"):
            self.is_done = True
            return []
        if event.name == "error":
            self._fail(fault_of_body(data))
            return []
        if not data.startswith("{"):  # a keep-alive dressed as data
            return []
        try:
            chunk = as_object(parsed(data))
        except ValueError:
            self.is_broken = not self.has_finish
            return []
        self.has_chunks = True
        parts = self.answer.read(chunk)
        fault = fault_in(chunk)
        if fault is not None:
            self._fail(fault)
        return parts

    def _read_whole(self) -> list[Part]:
        """An answer that came as one JSON value although a stream was asked for."""
        try:
            value = as_object(parsed(bytes(self._json)))
        except ValueError:
            self.is_broken = True
            return []
        self.fault = fault_in(value)
        parts = self.answer.read(value, "message")
        self.is_done = bool(self.answer)
        return parts

    def _fail(self, fault: Fault) -> None:
        """An error behind a finished answer takes nothing away from it, where there is one."""
        if not (self.has_finish and self.answer):
            self.fault = fault


def _shape(piece: bytes) -> Shape:
    start = piece.lstrip()[:1]
    if not start:
        return Shape.EVENTS if piece else Shape.UNKNOWN
    if is_page(start):
        return Shape.PAGE
    return Shape.JSON if start in (b"{", b"[") else Shape.EVENTS
