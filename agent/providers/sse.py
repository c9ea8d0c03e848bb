"""Server-sent events out of bytes, by the WHATWG rules, however the bytes were cut on their way."""

from __future__ import annotations

import codecs
from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event: its name ("" when the server gave none) and its data lines, joined by line feeds."""

    name: str
    data: str


class EventReader:
    """Turns pieces of a stream into events. Comments, `id` and `retry` are read over: nobody here resumes a stream."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._line: list[str] = []  # pieces of the line that has not ended yet
        self.held_chars = 0  # of the event that has not ended yet
        self._after_cr = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that these bytes complete."""
        return self._read(self._decoder.decode(piece))

    def end(self) -> list[ServerEvent]:
        """What is left when the stream is over. The rules drop an event without its blank line, yet servers end so."""
        return self._read(self._decoder.decode(b"", True) + "\n\n")

    def _read(self, text: str) -> list[ServerEvent]:
        self.held_chars += len(text)
        events: list[ServerEvent] = []
        for line in self._lines(text):
            if line:
                self._field(line)
            elif self._data or self._name:
                events.append(ServerEvent(self._name, "\n".join(self._data)))
                self._name, self._data = "", []
                self.held_chars = 0
        return events

    def _lines(self, text: str) -> list[str]:
        if self._after_cr and text:
            text = text.removeprefix("\n")
            self._after_cr = False
        if "\r" in text:
            self._after_cr = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        self._line.append(lines[0])
        if len(lines) == 1:
            return []
        lines[0] = "".join(self._line)
        self._line = [lines.pop()]
        return lines

    def _field(self, line: str) -> None:
        if line.startswith("data: "):
            self._data.append(line[6:])
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                self._data.append(value)
            case "event":
                self._name = value
            case "error":  # no field of the standard: some servers put their error there instead of into `data`
                self._name = "error"
                self._data.append(value)
            case _:
                pass
