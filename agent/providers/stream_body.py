"""The body of an answer, piece by piece: a stream of events, one JSON value, or a web page. Pure: bytes in, cut anywhere."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from agent.providers.base import ReasoningPart, RefusalPart, TextPart
from agent.providers.faults import is_page
from agent.providers.sse import EventReader, ServerEvent
from agent.providers.wire_json import Object, as_object, parsed

LARGEST_JSON_BYTES = 32_000_000
LARGEST_EVENT_CHARS = 64_000_000  # what never ends must not fill the memory
BOM = b"\xef\xbb\xbf"

Part = TextPart | ReasoningPart | RefusalPart


class Shape(Enum):
    """What the first bytes say a body is. Content types are not to be trusted, or missing (A35)."""

    UNKNOWN = "unknown"
    EVENTS = "events"
    JSON = "json"
    PAGE = "page"


class Reader(Protocol):
    """Makes an answer of what a body holds. Both methods may raise ValueError for what is no JSON."""

    @property
    def is_over(self) -> bool:
        """Nothing that may still come would count."""
        ...

    @property
    def has_finish(self) -> bool:
        """The answer is whole."""
        ...

    @property
    def has_events(self) -> bool:
        """Something of the answer came, text or not."""
        ...

    def read_event(self, event: ServerEvent) -> list[Part]: ...

    def read_whole(self, value: Object) -> list[Part]:
        """An answer that came as one JSON value although a stream was asked for."""
        ...


class StreamBody:
    """Splits a body into what its reader understands."""

    def __init__(self, reader: Reader) -> None:
        self.shape = Shape.UNKNOWN
        self.is_broken = False  # what should be JSON is not
        self._reader = reader
        self._events = EventReader()
        self._json = bytearray()
        self._start: bytes = b""  # what does not say yet which shape it has

    @property
    def is_over(self) -> bool:
        return self.is_broken or self.shape is Shape.PAGE or self._reader.is_over

    @property
    def has_finish(self) -> bool:
        return self._reader.has_finish

    @property
    def has_events(self) -> bool:
        return self._reader.has_events

    def feed(self, piece: bytes) -> list[Part]:
        if self.shape is Shape.UNKNOWN:
            piece = self._start + piece
            self.shape = _shape(piece)
            self._start = piece.lstrip() if self.shape is Shape.UNKNOWN else b""
        match self.shape:
            case Shape.EVENTS:
                parts = self._read(self._events.feed(piece))
                self.is_broken = self.is_broken or self._events.held_chars > LARGEST_EVENT_CHARS
                return parts
            case Shape.JSON:
                self._json += piece
                self.is_broken = len(self._json) > LARGEST_JSON_BYTES
                return []
            case Shape.UNKNOWN | Shape.PAGE:
                return []

    def end(self) -> list[Part]:
        """The rest, when no more bytes come."""
        if self.is_over:
            return []
        if self.shape is Shape.JSON:
            return self._read_json()
        parts = self._read(self._events.end())
        self.is_broken = False  # a last line without its end is cut, not wrong
        return parts

    def _read(self, events: list[ServerEvent]) -> list[Part]:
        parts: list[Part] = []
        for event in events:
            if self.is_over:
                break
            try:
                parts += self._reader.read_event(event)
            except ValueError:
                self.is_broken = True
        return parts

    def _read_json(self) -> list[Part]:
        try:
            return self._reader.read_whole(as_object(parsed(bytes(self._json))))
        except ValueError:
            self.is_broken = True
            return []


def _shape(piece: bytes) -> Shape:
    told = piece.lstrip()
    start = told.removeprefix(BOM).lstrip()[:1]
    # White space says nothing yet, and means nothing in front of anything; nor does a byte order mark, or half of one.
    if not start or BOM.startswith(told):
        return Shape.UNKNOWN
    if is_page(start):
        return Shape.PAGE
    return Shape.JSON if start in (b"{", b"[") else Shape.EVENTS
