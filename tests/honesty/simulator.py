"""A model server on loopback that counts what it is sent by a real tokenizer, and refuses what its window does not hold."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from session.models import ApiMode
from tests.honesty.counting import Answer, Body, Call, output_tokens, prompt_tokens, sealed, thinking_tokens
from tests.honesty.models import Counting, Model, Thinking

OPENING = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
TITLE = Answer("A short title")


@dataclass(frozen=True)
class Request:
    """A request as it came. `is_main`: of the conversation itself, as opposed to a title or a summary."""

    model: Model
    counted: int
    is_main: bool
    is_refused: bool


@dataclass
class Simulator:
    """Serves all models of a session. What they say stands in `answers`; a refused request takes none of it."""

    models: Mapping[str, Model]  # by provider
    summary: Answer
    answers: deque[Answer] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)
    on_request: Callable[[Request], None] = lambda _: None
    url: str = ""
    _server: asyncio.Server | None = None
    _made: int = 0  # ids

    async def __aenter__(self) -> Simulator:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    def base_url(self, model: Model) -> str:
        return f"{self.url}/{model.provider}/v1"

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path, body = await _request(reader)
            for piece in self._answered(self.models[path.split("/")[1]], body):
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left
        finally:
            writer.close()

    def _answered(self, model: Model, body: Body) -> Iterator[bytes]:
        counted, is_main = prompt_tokens(model, body), bool(body.get("tools"))
        is_refused = counted > model.window
        self.requests.append(Request(model, counted, is_main, is_refused))
        self.on_request(self.requests[-1])
        if is_refused:
            yield REFUSAL + json.dumps({"error": _refusal(model, counted)}).encode()
            return
        answer = self._next(body) if is_main else self._aside(body)
        answer, is_cut = _fitting(model, answer, model.window - counted)
        yield OPENING
        events = _responses_events if model.api_mode is ApiMode.RESPONSES else _chat_events
        self._made += 1
        yield from events(model, answer, counted, f"r{self._made}", is_cut)

    def _next(self, body: Body) -> Answer:
        return self.answers.popleft() if self.answers else Answer("That is all.")

    def _aside(self, body: Body) -> Answer:
        return TITLE if "Write a title" in json.dumps(body) else self.summary


def _fitting(model: Model, answer: Answer, room: int) -> tuple[Answer, bool]:
    """The answer as far as the window has room for it, and whether that cut it."""
    if (size := output_tokens(model, answer)) <= room:
        return answer, False
    kept = len(answer.text) * max(0, room) // size
    return replace(answer, text=answer.text[:kept] or "…", thinking="", calls=()), True


def _refusal(model: Model, counted: int) -> Body:
    said = f"This model's maximum context length is {model.window} tokens. However, your messages resulted in {counted} tokens."
    vague = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return {"message": said if model.says_window else vague, "code": "context_length_exceeded", "type": "invalid_request_error"}  # fmt: skip


async def _request(reader: asyncio.StreamReader) -> tuple[str, Body]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    size = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length"))
    return head.split(" ")[1], json.loads(await reader.readexactly(size))


def _chat_events(model: Model, answer: Answer, counted: int, name: str, is_cut: bool) -> Iterator[bytes]:
    def chunk(delta: Body, finish: str | None = None) -> bytes:
        return _data({"id": name, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    if answer.thinking and model.thinking is Thinking.SHOWN:
        yield chunk({"reasoning_content": answer.thinking})
    if answer.text:
        yield chunk({"content": answer.text})
    for index, call in enumerate(answer.calls):
        function = {"name": call.name, "arguments": call.arguments}
        yield chunk({"tool_calls": [{"index": index, "id": f"{name}-{index}", "type": "function", "function": function}]})  # fmt: skip
    yield chunk({}, "length" if is_cut else "tool_calls" if answer.calls else "stop")
    if usage := _usage(model, answer, counted, ("prompt", "completion")):
        yield _data({"id": name, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _responses_events(model: Model, answer: Answer, counted: int, name: str, is_cut: bool) -> Iterator[bytes]:
    items = list(_items(model, answer, name))
    for index, item in enumerate(items):
        yield _event("output_item.done", {"output_index": index, "item": item})
    status = "incomplete" if is_cut else "completed"
    reason = {"incomplete_details": {"reason": "max_output_tokens"}} if is_cut else {}
    usage = _usage(model, answer, counted, ("input", "output"))
    yield _event(status, {"response": {"id": name, "status": status, "output": [], "usage": usage, **reason}})


def _items(model: Model, answer: Answer, name: str) -> Iterator[Body]:
    if answer.thinking and model.thinking is not Thinking.NONE:
        yield {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": sealed(answer.thinking)}
    if answer.text:
        content = [{"type": "output_text", "text": answer.text}]
        yield {"type": "message", "id": f"msg_{name}", "role": "assistant", "content": content}
    for index, call in enumerate(answer.calls):
        yield _call_item(call, f"{name}_{index}")


def _call_item(call: Call, name: str) -> Body:
    return {
        "type": "function_call",
        "id": f"fc_{name}",
        "call_id": f"call_{name}",
        "name": call.name,
        "arguments": call.arguments,
    }


def _usage(model: Model, answer: Answer, counted: int, names: tuple[str, str]) -> Body | None:
    prompt, output = names
    if model.counting is Counting.NONE:
        return None
    if model.counting is Counting.ZEROS:
        return {f"{prompt}_tokens": 0, f"{output}_tokens": 0, "total_tokens": 0}
    made = output_tokens(model, answer)
    usage: dict[str, Any] = {f"{prompt}_tokens": counted, f"{output}_tokens": made, "total_tokens": counted + made}
    if model.counting is Counting.CACHED:
        usage[f"{prompt}_tokens_details"] = {"cached_tokens": counted * 4 // 5}
    if model.reports and model.thinking is not Thinking.NONE:
        usage[f"{output}_tokens_details"] = {"reasoning_tokens": thinking_tokens(model, answer)}
    return usage


def _event(kind: str, fields: Body) -> bytes:
    kind = f"response.{kind}"
    return f"event: {kind}\n".encode() + _data({"type": kind, **fields})


def _data(value: Body) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
