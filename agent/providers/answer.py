"""One answer put together from the chunks of a Chat Completions stream. Pure: chunks in, deltas out, a Reply at the end."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from agent.providers.base import ReasoningPart, RefusalPart, Reply, TextPart
from agent.providers.calls import CallSlots
from agent.providers.chat_extras import THINK_TAGS, ChatExtras, Details, encoded
from agent.providers.growing_text import GrowingText
from agent.providers.stream_body import Part
from agent.providers.think_tags import ThinkTags
from agent.providers.usage import usage_in
from agent.providers.wire_json import NO_FIELDS, Object, TextJoiner, as_list, as_object, as_text
from session.models import Finish, Partial, Usage

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

    def __init__(self, tools: Collection[str], think_tags: bool = True) -> None:
        self._content = _Spoken()
        self._reasoning = _Spoken()
        self._refusal = _Spoken()
        self._tags = ThinkTags() if think_tags else None
        self._reasoning_field = ""
        self._details = Details()
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
    def is_told(self) -> bool:
        """There is an answer, or a reason why there is none: thinking alone is neither."""
        return bool(self._calls or self._content or self._refusal) or self._end in (
            Finish.LENGTH,
            Finish.CONTENT_FILTER,
        )

    @property
    def partial(self) -> Partial:
        held = self._tags.held if self._tags and not self._tags.is_thinking else ""
        return Partial(self._content.text + held, self._reasoning.text, self._refusal.text)

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

    def end(self) -> list[Part]:
        """What was held back, when nothing more comes."""
        thinking, content = self._tags.end() if self._tags else ("", "")
        return self._said(thinking, content, "")

    def reply(self, taken: Collection[str], provider: str = "") -> Reply:
        """The whole answer; its calls get ids that are not among `taken`, its extras belong to `provider`."""
        said = self.partial
        calls = self._calls.calls(taken, is_cut=self._end is Finish.LENGTH)
        finish = self._finish_of(said, bool(calls))
        extras = ChatExtras(provider, self._reasoning_field, self._details.joined(), self._calls.extras())
        reply = Reply(said.content, said.reasoning, said.refusal, calls, finish, self.usage, self._model, self._id)
        return replace(reply, extras=encoded(extras))

    def _read_delta(self, delta: Object) -> list[Part]:
        if not delta:
            return []
        if "tool_calls" in delta:
            self._calls.read(delta["tool_calls"])
        if "reasoning_details" in delta:
            self._details.add(delta["reasoning_details"])
        content, listed = _content(delta.get("content"))
        field, reasoning = _reasoning(delta)
        if field:
            self._reasoning_field = self._reasoning_field or field
        tagged, content = self._untagged(content, bool(reasoning))
        return self._said((reasoning or listed) + tagged, content, as_text(delta.get("refusal")))

    def _untagged(self, content: str, has_reasoning: bool) -> tuple[str, str]:
        if not content or self._tags is None:
            return "", content
        thinking, content = self._tags.split(content, has_reasoning or bool(self._reasoning))
        if thinking:
            self._reasoning_field = self._reasoning_field or THINK_TAGS
        return thinking, content

    def _said(self, reasoning: str, content: str, refusal: str) -> list[Part]:
        parts: list[Part] = []
        if reasoning and (legal := self._reasoning.add(reasoning)):
            parts.append(ReasoningPart(legal))
        if content and (legal := self._content.add(content)):
            parts.append(TextPart(legal))
        if refusal and (legal := self._refusal.add(refusal)):
            parts.append(RefusalPart(legal))
        return parts

    @property
    def _end(self) -> Finish:
        return _FINISHES.get(self._finish.lower(), Finish.STOP)

    def _finish_of(self, said: Partial, has_calls: bool) -> Finish:
        """Calls run whatever reason a server gives for its end (A14), except when they may have been cut."""
        if self._end in (Finish.LENGTH, Finish.CONTENT_FILTER):
            return self._end
        if has_calls:
            return Finish.TOOL_CALLS
        return Finish.CONTENT_FILTER if said.refusal and not said.content else Finish.STOP


class _Spoken:
    """A text that grows, kept legal where a character was split over two chunks."""

    def __init__(self) -> None:
        self._said = GrowingText()
        self._joiner = TextJoiner()

    def __bool__(self) -> bool:
        return bool(self._said)

    @property
    def text(self) -> str:
        return self._said.text

    def add(self, text: str) -> str:
        """The text as it may be shown now."""
        legal = self._joiner.join(text)
        self._said.add(legal)
        return legal


def _first_choice(chunk: Object) -> Object:
    for item in as_list(chunk.get("choices")):
        choice = as_object(item)
        if choice.get("index", 0) in (0, None):
            return choice
    return NO_FIELDS


def _reasoning(delta: Object) -> tuple[str, str]:
    """The name and text of a thought, which may come under several names in one delta: it counts once (A26)."""
    for key in ("reasoning_content", "reasoning"):
        if text := as_text(delta.get(key)):
            return key, text
    if not delta.get("reasoning_details"):
        return "", ""
    details = [as_object(item) for item in as_list(delta["reasoning_details"])]
    return "", "".join([as_text(detail.get("text")) or as_text(detail.get("summary")) for detail in details])


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
