"""One answer put together from the events of a Responses stream. Pure: events in, deltas out, a Reply at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from uuid import uuid4

from agent.providers.base import ReasoningPart, RefusalPart, Reply, TextPart
from agent.providers.faults import Fault, fault_in, fault_of_body
from agent.providers.responses_items import CALL_KINDS, COMPACTION, PARAGRAPH, Item, Items, index_of, texts
from agent.providers.responses_replay import kept
from agent.providers.sse import ServerEvent
from agent.providers.stream_body import Part
from agent.providers.usage import usage_in
from agent.providers.wire_json import Object, as_list, as_object, as_text, compact, parsed, whole_characters
from session.models import Finish, Partial, Route, ToolCall, Usage

_ENDS = frozenset({"completed", "incomplete", "failed", "cancelled"})
_KEEP_ALIVES = frozenset({"keepalive", "ping", ""})
_FINISHES = {
    "max_output_tokens": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
}


class ResponsesAnswer:
    """What the model has said so far. A call may run once its item is done, or the whole response is completed."""

    def __init__(self) -> None:
        self.fault: Fault | None = None
        self.usage: Usage | None = None
        self.has_events = False
        self.has_finish = False  # a terminal event came, or [DONE]
        self._items = Items()
        self._end = ""  # the status that the response ended with
        self._reason = ""  # why it is incomplete
        self._model = ""
        self._id = ""

    @property
    def is_over(self) -> bool:
        return self.has_finish or self.fault is not None

    @property
    def is_whole(self) -> bool:
        """It ended as an answer ends. After a bare [DONE] it did so if no call was left open."""
        if self._end:
            return self._end == "completed" or self._early_finish is not None
        is_left_open = any(item.kind in CALL_KINDS and not item.is_done for item in self._items)
        return self.has_finish and bool(self) and not is_left_open

    def __bool__(self) -> bool:
        """True once there is anything that a person or a tool could use."""
        return bool(self.partial) or any(item.kind in CALL_KINDS for item in self._items)

    @property
    def partial(self) -> Partial:
        messages = [item for item in self._items if not item.is_hidden]
        return Partial(
            PARAGRAPH.join(item.text.text for item in messages if item.text),
            "".join(_thoughts(self._items)),
            "".join(item.refusal.text for item in messages),
        )

    # --- reading

    def read_event(self, event: ServerEvent) -> list[Part]:
        if event.data.startswith("[DONE]"):
            self.has_finish = True
            return []
        if event.name == "error":
            self.fault = fault_of_body(event.data)
            return []
        if not event.data.startswith("{"):  # a keep-alive dressed as data
            return []
        return self._read(as_object(parsed(event.data)), event.name)

    def read_whole(self, value: Object) -> list[Part]:
        self.fault = fault_in(value)
        if "output" not in value:
            return []
        self.has_events = True
        return self._read_end(value, as_text(value.get("status")) or "completed")

    def _read(self, event: Object, name: str) -> list[Part]:
        """Events have a type, not all have a name. One that is not known says nothing."""
        kind = (as_text(event.get("type")) or name).removeprefix("response.")
        if kind == "error" or event.get("error"):
            self.fault = fault_of_body(compact(event))
            return []
        self.has_events = self.has_events or kind not in _KEEP_ALIVES
        if kind in _ENDS:
            return self._read_end(as_object(event.get("response")), kind)
        match kind.rpartition("."):
            case ("output_item", _, "added" | "done" as step):
                return self._read_item(as_object(event.get("item")), index_of(event), step == "done")
            case ("function_call_arguments", _, "delta" | "done" as step):
                self._read_arguments(event, step == "done")
            case ("output_text" | "refusal" as what, _, "delta" | "done" as step):
                return self._read_text(event, what, step == "done")
            case (what, _, "delta" | "done" as step) if what.startswith("reasoning"):
                return self._read_thought(event, what, step == "done")
            case _:
                pass
        return []

    def _read_arguments(self, event: Object, is_whole: bool) -> None:
        """What is done replaces what came, also by nothing; what it leaves out stays."""
        given = event.get("arguments" if is_whole else "delta")
        if given is None:
            return
        item = self._items.told_of("function_call", event)
        if name := as_text(event.get("name")):
            item.describe({"name": name}, None)
        text = given if isinstance(given, str) else compact(given)
        (item.arguments.replace if is_whole else item.arguments.add)(text)

    def _read_text(self, event: Object, what: str, is_whole: bool) -> list[Part]:
        text, part = _words(event, what), index_of(event, "content_index")
        if not text or (is_whole and self._items.was_done("message", event)):
            return []
        item = self._items.told_of("message", event)
        if what == "refusal":
            return _refused(item.refusal.add(text, part, is_whole))
        is_first = not item.text
        return self._said(item, item.text.add(text, part, is_whole), is_first)

    def _read_thought(self, event: Object, what: str, is_whole: bool) -> list[Part]:
        words = _words(event, what)
        if not words or (is_whole and self._items.was_done("reasoning", event)):
            return []
        item = self._items.told_of("reasoning", event)
        is_first, summary = not item.thought, index_of(event, "summary_index")
        text = item.think(words, what, summary, index_of(event, "content_index"), is_whole)
        return self._thought(item, text, is_first)

    def _read_item(self, fields: Object, index: int | None, is_done: bool) -> list[Part]:
        """A finished item says all that was not heard of it before."""
        if not fields.get("type"):
            return []
        if not is_done:
            self._items.announced(fields, index)
            return []
        item = self._items.done(fields, index)
        match item.kind:
            case "reasoning":
                return self._read_whole_thought(item)
            case "message":
                return self._read_message(item)
            case _:
                return []

    def _read_whole_thought(self, item: Item) -> list[Part]:
        if item.thought:
            return []
        summary = [as_text(as_object(part).get("text")) for part in as_list(item.fields.get("summary"))]
        text = PARAGRAPH.join(filter(None, summary)) or texts(item.fields.get("content"), "reasoning_text", "text")
        return self._thought(item, item.think(text, "", 0 if summary else None, None, True), True)

    def _read_message(self, item: Item) -> list[Part]:
        content, is_first = item.fields.get("content"), not item.text
        said = self._said(item, item.text.complete(texts(content, "output_text", "text")), is_first)
        return said + _refused(item.refusal.complete(texts(content, "refusal")))

    def _read_end(self, response: Object, status: str) -> list[Part]:
        """The end of the response. What it repeats of the output counts only where nothing of it was heard."""
        told = as_text(response.get("status"))
        self._end = told if status == "completed" and told in _ENDS else status
        self._reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        self.usage = usage_in(response) or self.usage
        self._model, self._id = as_text(response.get("model")), as_text(response.get("id"))
        parts: list[Part] = []
        if not self._items:
            for index, fields in enumerate(as_list(response.get("output"))):
                parts += self._read_item(as_object(fields), index, is_done=True)
        if self._end in ("failed", "cancelled"):
            self.fault = fault_in(response) or Fault()
        self.has_finish = True
        return parts

    # --- what it comes to

    def reply(self, route: Route, taken: Collection[str]) -> Reply:
        """The whole answer; its calls get ids that are not among `taken`."""
        said, calls = self.partial, self._calls(taken)
        items = [(item, calls.get(item)) for item in self._items if item.kind and (item.is_done or item in calls)]
        return Reply(
            content=said.content,
            reasoning=said.reasoning,
            refusal=said.refusal,
            calls=tuple(calls.values()),
            finish=self._early_finish or _finish(said, bool(calls)),
            usage=self.usage,
            model=self._model,
            id=self._id,
            extras=kept(route, items),
            is_compacted=any(item.kind == COMPACTION for item, _ in items),
        )

    @property
    def _early_finish(self) -> Finish | None:
        """How an incomplete response ended, None for any other and for reasons that are no end of an answer."""
        return _FINISHES.get(self._reason) if self._end == "incomplete" else None

    def _calls(self, taken: Collection[str]) -> dict[Item, ToolCall]:
        """The calls in order, with ids that none of `taken` nor another of these calls has (A10)."""
        ids = set(taken)
        calls: dict[Item, ToolCall] = {}
        for item in self._items:
            if not item.may_run(self._end == "completed"):
                continue
            call_id = item.call_id if item.call_id and item.call_id not in ids else f"call_{uuid4().hex[:24]}"
            ids.add(call_id)
            arguments = item.arguments.text
            calls[item] = ToolCall(
                call_id, whole_characters(item.name), whole_characters(arguments if arguments.strip() else "{}")
            )
        return calls

    def _said(self, item: Item, text: str, is_first: bool) -> list[Part]:
        """A second message begins a new paragraph."""
        if not text:
            return []
        if item.is_hidden:
            return [ReasoningPart(text)]
        is_next = is_first and any(other.text for other in self._items if other is not item and not other.is_hidden)
        return [TextPart(PARAGRAPH + text if is_next else text)]

    def _thought(self, item: Item, text: str, is_first: bool) -> list[Part]:
        if not text:
            return []
        is_next = is_first and item.is_summary and any(other.thought for other in self._items if other is not item)
        return [ReasoningPart(PARAGRAPH + text if is_next else text)]


def _thoughts(items: Items) -> Iterator[str]:
    """The thinking of all items; summaries stand apart from what was thought before them."""
    has_thought = False
    for item in items:
        text = item.text.text if item.is_hidden else item.thought.text
        if text:
            yield PARAGRAPH + text if item.is_summary and has_thought else text
            has_thought = True


def _words(event: Object, what: str) -> str:
    return as_text(event.get("delta")) or as_text(event.get("refusal" if what == "refusal" else "text"))


def _refused(text: str) -> list[Part]:
    return [RefusalPart(text)] if text else []


def _finish(said: Partial, has_calls: bool) -> Finish:
    if has_calls:
        return Finish.TOOL_CALLS
    return Finish.CONTENT_FILTER if said.refusal and not said.content else Finish.STOP
