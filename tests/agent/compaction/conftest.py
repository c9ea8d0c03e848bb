"""Long conversations in a small window, and a server that refuses what does not fit into its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.events import CompactionEnded
from session.models import (
    ApiMode,
    Approval,
    CallOutcome,
    CallResult,
    Finish,
    Message,
    Role,
    Route,
    Session,
    TitleSource,
    ToolCall,
)

WORDS = "the quick brown fox jumps over the lazy dog and runs on through the green wood "


def prose(tokens: int, mark: str = "") -> str:
    """About so many tokens by the rough rule of four characters each."""
    return f"{mark} {WORDS * (tokens // len(WORDS) * 4 + 4)}"[: tokens * 4].strip()


class Talk:
    """What was said in a session before it is opened."""

    def __init__(self) -> None:
        self.rows: list[Message] = []

    def add(self, role: Role, text: str, **fields: Any) -> Talk:
        self.rows.append(Message("long", role, text, 1_800_000_000.0 + len(self.rows) * 60, **fields))
        return self

    def turns(self, count: int, tokens: int) -> Talk:
        """So many prompts and answers, each answer of about so many tokens."""
        for number in range(count):
            self.add(Role.USER, f"question {number}")
            self.add(Role.ASSISTANT, prose(tokens, f"answer {number}"), finish=Finish.STOP)
        return self

    def call(self, id_: str, output: str, arguments: str = '{"command": "ls"}', tool: str = "terminal") -> Talk:
        self.add(Role.ASSISTANT, "", calls=(ToolCall(id_, tool, arguments),), finish=Finish.TOOL_CALLS)
        result = CallResult(id_, tool, CallOutcome.OK, Approval.ALLOWED_ONCE, 0 if tool == "terminal" else None)
        return self.add(Role.TOOL, output, result=result)


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def window() -> int | None:
    """Of the model, as the config declares it."""
    return 20_000


@pytest.fixture
def reopen(
    home: Path, served: Any, workspace: Path, window: int | None, more_config: str, open_bench: Callable[..., Any]
) -> Callable[..., Any]:
    """Opens a hub, in it the session of a talk; `url` is another server than `served`, `provider` more of its settings."""

    async def opened(talk: Talk, url: str = "", personality: str = "", more: str = "", provider: str = "") -> Any:
        home.mkdir(mode=0o700, exist_ok=True)
        url = url or served.url
        length = f", context_length: {window}" if window else ""
        provider = f", {provider}" if provider else ""
        (home / "config.yaml").write_text(
            "model: {default: m, provider: served}\nprobe_local: false\nauxiliary: {titles: false}\n"
            "agent: {api_max_retries: 0, stream_retries: 0}\n"
            f"providers: {{served: {{base_url: '{url}'{length}{provider}}}}}\n{more_config}\n{more}\n"
        )
        bench = await open_bench()
        route = Route("served", "m", url, ApiMode.CHAT, window=window)
        session = Session(
            *("long", "tui", "Long", TitleSource.PERSON, str(workspace), str(workspace), 1.0, 1.0),
            route=route,
            personality=personality,
        )

        def store(tables: Any) -> None:
            tables.sessions.create(session)
            for row in talk.rows:
                tables.messages.append(row)

        bench.hub.profile.db.write(store).result()
        await bench.hub.open("long")
        bench.session_id = "long"
        bench.listener.drain()
        return bench

    return opened


@pytest.fixture
def compact() -> Callable[..., Any]:
    """Compacts a bench's session as a person would, and waits for its end."""

    async def run(bench: Any, focus: str = "") -> CompactionEnded:
        bench.hub.compact(bench.session_id, focus)
        events = await bench.until(lambda event: isinstance(event, CompactionEnded))
        return next(event for event in events if isinstance(event, CompactionEnded))

    return run


@dataclass
class Strict:
    """A server whose window is `limit` tokens of four characters of the messages' text; more is refused in `words`.

    It answers a request for a summary with `summary`, anything else with "So it is.".
    """

    limit: int = 10**9
    words: str = "This model's maximum context length is {limit} tokens. However, you requested {size} tokens."
    status: str = "400 Bad Request"
    summary: str = "## Aim\nTo see it through."
    url: str = ""
    counts: bool = True
    requests: list[list[dict[str, Any]]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)

    def is_summary(self, messages: Sequence[dict[str, Any]]) -> bool:
        return "You write summaries" in str(messages[0]["content"])

    @property
    def summaries(self) -> list[list[dict[str, Any]]]:
        return [messages for messages in self.requests if self.is_summary(messages)]

    def answer(self, body: dict[str, Any]) -> bytes:
        messages = body["messages"]
        size = sum(len(json.dumps(message, ensure_ascii=False)) for message in messages) // 4
        self.requests.append(messages)
        self.sizes.append(size)
        if size > self.limit:
            self.refused.append(size)
            error = json.dumps({"error": {"message": self.words.format(limit=self.limit, size=size), "type": "x"}})
            return self._response(self.status, "application/json", error)
        text = self.summary if self.is_summary(messages) else "So it is."
        said = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
        counted = {"choices": [], "usage": {"prompt_tokens": size, "completion_tokens": 5}}
        events = [said, *([counted] if self.counts else [])]
        stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return self._response("200 OK", "text/event-stream", f"{stream}data: [DONE]\n\n")

    def _response(self, status: str, kind: str, body: str) -> bytes:
        return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{body}".encode()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length"))
            writer.write(self.answer(json.loads(await reader.readexactly(length))))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def strict() -> AsyncIterator[Strict]:
    played = Strict()
    server = await asyncio.start_server(played.handle, "127.0.0.1", 0)
    played.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield played
    server.close()
