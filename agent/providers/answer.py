"""One answer put together from the chunks of a Chat Completions stream. Pure: chunks in, deltas out, a Reply at the end."""

from __future__ import annotations

from collections.abc import Collection

from agent.providers.base import ReasoningPart, RefusalPart, Reply, TextPart
from agent.providers.calls import CallSlots
from agent.providers.usage import usage_in
from agent.providers.wire_json import NO_FIELDS, Object, TextJoiner, as_list, as_object, as_text
from session.models import Finish, Partial, Usage

Part = TextPart | ReasoningPart | RefusalPart

_FINISHES = {
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "safety": Finish.CONTENT_FILTER,
    "refusal": Finish.CONTENT_FILTER,
}
_FAILURES = frozenset({"error", "network_error", "abort", "aborted", "cancelled", "insufficient_system_resource"})


class Answer:
    """What the model has said so far, of choice 0 only. `tools` are the names that it was offered."""

    def __init__(self, tools: Collection[str]) -> None:
        self._content = _Spoken()
        self._reasoning = _Spoken()
        self._refusal = _Spoken()
        self._calls = CallSlots(tools)
        self._finish = ""
        self._model = ""
        self._id = ""
        self.usage: Usage | None = None

    @property
    def has_finish(self) -> bool:
        return bool(self._finish) and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """The server's word for the end says that it gave up."""
        return self._finish.lower() in _FAILURES

    @property
    def partial(self) -> Partial:
        return Partial(self._content.text, self._reasoning.text, self._refusal.text)

    def __bool__(self) -> bool:
        """True once there is anything that a person or a tool could use."""
        return bool(self._calls) or bool(self.partial)

    def read(self, chunk: Object, key: str = "delta") -> list[Part]:
        """The parts that a chunk adds. `key` is "message" for an answer that came whole.

        Some servers send a growing `message` beside each `delta`: only the one asked for counts.
        """
        choice = _first_choice(chunk)
        self.usage = usage_in(chunk, choice) or self.usage
        self._model = self._model or as_text(chunk.get("model"))
        self._id = self._id or as_text(chunk.get("id"))
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        return self._read_delta(as_object(choice.get(key)))

    def reply(self, taken: Collection[str]) -> Reply:
        """The whole answer; its calls get ids that are not among `taken`."""
        said = self.partial
        calls = self._calls.calls(taken, is_cut=_FINISHES.get(self._finish.lower()) is Finish.LENGTH)
        finish = self._finish_of(said, bool(calls))
        return Reply(said.content, said.reasoning, said.refusal, calls, finish, self.usage, self._model, self._id)

    def _read_delta(self, delta: Object) -> list[Part]:
        if not delta:
            return []
        if "tool_calls" in delta:
            self._calls.read(delta["tool_calls"])
        content, thinking = _content(delta.get("content"))
        parts: list[Part] = []
        if reasoning := self._reasoning.add(_reasoning(delta) or thinking):
            parts.append(ReasoningPart(reasoning))
        if text := self._content.add(content):
            parts.append(TextPart(text))
        if refusal := self._refusal.add(as_text(delta.get("refusal"))):
            parts.append(RefusalPart(refusal))
        return parts

    def _finish_of(self, said: Partial, has_calls: bool) -> Finish:
        """Calls run whatever reason a server gives for its end (A14), except when they may have been cut."""
        finish = _FINISHES.get(self._finish.lower(), Finish.STOP)
        if finish in (Finish.LENGTH, Finish.CONTENT_FILTER):
            return finish
        if has_calls:
            return Finish.TOOL_CALLS
        return Finish.CONTENT_FILTER if said.refusal and not said.content else Finish.STOP


class _Spoken:
    """A text that grows: kept in pieces, joined when it is asked for."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._joiner = TextJoiner()

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str) -> str:
        """The text as it may be shown now."""
        if not text:
            return ""
        legal = self._joiner.join(text)
        self._pieces.append(legal)
        return legal


def _first_choice(chunk: Object) -> Object:
    for item in as_list(chunk.get("choices")):
        choice = as_object(item)
        if choice.get("index", 0) in (0, None):
            return choice
    return NO_FIELDS


def _reasoning(delta: Object) -> str:
    """The same thought may come under several names in one delta: it counts once (A26)."""
    for key in ("reasoning_content", "reasoning"):
        if text := as_text(delta.get(key)):
            return text
    details = (as_object(item) for item in as_list(delta.get("reasoning_details")))
    return "".join(as_text(detail.get("text")) or as_text(detail.get("summary")) for detail in details)


def _content(value: object) -> tuple[str, str]:
    """Text and thinking of a `content`, which is a string or, from Mistral, a list of parts (A29)."""
    if isinstance(value, str):
        return value, ""
    text: list[str] = []
    thinking: list[str] = []
    for item in as_list(value):
        part = as_object(item)
        if part.get("type") == "thinking":
            thinking.append("".join(_content(part.get("thinking"))))
        else:
            text.append(as_text(item) or as_text(part.get("text")))
    return "".join(text), "".join(thinking)
