"""What the body of a Chat Completions answer holds besides the answer: its end, and errors in any place. Pure."""

from __future__ import annotations

from collections.abc import Collection

from agent.providers.answer import Answer
from agent.providers.faults import Fault, fault_in, fault_of_body
from agent.providers.sse import ServerEvent
from agent.providers.stream_body import Part
from agent.providers.wire_json import Object, as_object, parsed


class ChatBody:
    """Reads events, or one JSON value, into an Answer: the `Reader` of a StreamBody."""

    def __init__(self, tools: Collection[str], think_tags: bool = True) -> None:
        self.answer = Answer(tools, think_tags)
        self.fault: Fault | None = None
        self.afterthought: Fault | None = None  # an error that a server put behind a finished answer
        self.has_events = False
        self.is_done = False  # the server said [DONE]

    @property
    def has_finish(self) -> bool:
        """The answer is whole, though more may come behind it (usage, [DONE])."""
        return self.is_done or self.answer.has_finish

    @property
    def is_over(self) -> bool:
        return self.is_done or self.fault is not None

    def read_event(self, event: ServerEvent) -> list[Part]:
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
            if self.has_finish:
                return []
            raise
        self.has_events = True
        parts = self.answer.read(chunk)
        fault = fault_in(chunk)
        if fault is not None:
            self._fail(fault)
        return parts

    def read_whole(self, value: Object) -> list[Part]:
        """An answer that came as one JSON value although a stream was asked for."""
        self.fault = fault_in(value)
        parts = self.answer.read(value, "message")
        self.is_done = bool(self.answer)
        return parts

    def _fail(self, fault: Fault) -> None:
        """An error behind a finished answer takes nothing away from it, where there is one."""
        if self.has_finish and self.answer.is_told and self.answer:
            self.afterthought = fault
        else:
            self.fault = fault
