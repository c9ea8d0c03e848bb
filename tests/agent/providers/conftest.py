"""A server of our own over raw sockets, which sends exactly the bytes a test tells it, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum

import pytest
from msgspec.structs import replace

from agent.providers.base import ModelRequest, ProviderError, Reply
from agent.providers.chat import ChatProvider
from agent.providers.responses import ResponsesProvider
from session.models import ApiMode, Route

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class End(Enum):
    """How a script ends its connection, or that it does not."""

    EOF = "eof"
    RST = "rst"
    OPEN = "open"  # the socket stays open and silent
    NEXT = "next"  # the connection serves another request


Step = bytes | list[bytes] | asyncio.Event | float | End  # a list is written piece by piece, almost without a pause


@dataclass
class Recorded:
    """A request as it was on the wire; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)


@dataclass
class Wire:
    """The server. Each request gets the next script; the last script serves all further ones."""

    port: int = 0
    scripts: list[list[Step]] = field(default_factory=list)
    requests: list[Recorded] = field(default_factory=list)
    open_sockets: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def serve(self, *steps: Step) -> None:
        """One answer, head and all."""
        self.scripts.append(list(steps))

    def stream(self, *steps: Step, end: End = End.EOF) -> None:
        """One streamed answer."""
        self.serve(STREAM_HEAD, *steps, end)

    def answer(self, status: str, body: str, *headers: str, kind: str = "application/json") -> None:
        """One whole answer, with its length."""
        data = body.encode()
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *headers]
        self.serve("\r\n".join(lines).encode() + b"\r\n\r\n" + data, End.EOF)

    @staticmethod
    def chunk(delta: object, finish: str | None = None, **more: object) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return Wire.data(
            {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | more
        )

    @staticmethod
    def usage(prompt: int, output: int, **more: object) -> bytes:
        counts = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output} | more
        return Wire.data({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": counts})

    @staticmethod
    def event(kind: str, **fields: object) -> bytes:
        """One event of a Responses stream."""
        return b"event: " + kind.encode() + b"\n" + Wire.data({"type": kind} | fields)

    @staticmethod
    def data(value: object) -> bytes:
        return b"data: " + json.dumps(value).encode() + b"\n\n"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_sockets += 1
        try:
            while await self._exchange(reader, writer):
                pass
        finally:
            self.open_sockets -= 1
            self.closed.set()
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        try:
            self.requests.append(await _request(reader))
        except asyncio.IncompleteReadError:
            return False
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        with suppress(ConnectionError):
            for step in script:
                match step:
                    case bytes():
                        writer.write(step)
                        await writer.drain()
                        await asyncio.sleep(0)
                    case list():
                        for at, piece in enumerate(step):
                            writer.write(piece)
                            if at % 16 == 0:
                                await writer.drain()
                                await asyncio.sleep(0)
                    case asyncio.Event():
                        await step.wait()
                    case float():
                        await asyncio.sleep(step)
                    case End.NEXT:
                        return True
                    case End.OPEN:
                        await reader.read()
                    case End.RST:
                        _reset(writer)
                    case End.EOF:
                        pass
        return False


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _request(reader: asyncio.StreamReader) -> Recorded:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Recorded(method, path, headers, body)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    wire = Wire()
    handlers: set[asyncio.Task] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.add(task)
        try:
            await wire.handle(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            handlers.discard(task)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    yield wire
    server.close()
    for task in list(handlers):
        task.cancel()
    if handlers:
        await asyncio.wait(handlers, timeout=5)


@dataclass
class Told:
    """What a provider told of one request: its parts, and the reply or the error it ended with."""

    parts: list
    reply: Reply | None = None
    error: ProviderError | None = None


@pytest.fixture
def listen() -> Callable:
    """Reads a provider's stream to its end."""

    async def read(provider, request: ModelRequest) -> Told:
        told = Told([])
        try:
            async for part in provider.stream(request):
                assert told.reply is None, "nothing comes after the reply"
                if isinstance(part, Reply):
                    told.reply = part
                else:
                    told.parts.append(part)
        except ProviderError as error:
            told.error = error
        assert (told.reply is None) != (told.error is None)
        return told

    return read


@pytest.fixture
def question(wire: Wire) -> Callable[..., ModelRequest]:
    """A request on the wire's route, offering the tools by name."""

    def make(*tools: str, messages: list | None = None, **extra_body: object) -> ModelRequest:
        route = Route("test", "m", wire.base_url, ApiMode.CHAT, "TEST_KEY")
        offered = [{"type": "function", "function": {"name": tool, "parameters": {"type": "object"}}} for tool in tools]
        return ModelRequest(route, messages or [{"role": "user", "content": "hi"}], offered, extra_body)

    return make


@pytest.fixture
def fragment() -> Callable[..., bytes]:
    """A chunk with a tool call's fragment, in which "-" leaves a key out."""

    def make(index: object, call_id: object, name: object, text: object) -> bytes:
        function = {key: value for key, value in (("name", name), ("arguments", text)) if value != "-"}
        rest = {key: value for key, value in (("index", index), ("id", call_id)) if value != "-"}
        return Wire.chunk({"tool_calls": [{**rest, "type": "function", "function": function}]})

    return make


@pytest.fixture
def ask(wire: Wire, question: Callable, listen: Callable) -> Callable:
    """Asks the wire once with a chat provider of these arguments, and closes it."""

    async def once(*tools: str, key: str = "sk-secret-1234", request: ModelRequest | None = None, **options) -> Told:
        async with opened(ChatProvider(wire.base_url, key, **options)) as provider:
            return await listen(provider, request or question(*tools))

    return once


@pytest.fixture
def ask_responses(wire: Wire, question: Callable, listen: Callable) -> Callable:
    """The same with a Responses provider."""

    async def once(*tools: str, key: str = "sk-secret-1234", request: ModelRequest | None = None, **options) -> Told:
        async with opened(ResponsesProvider(wire.base_url, key, **options)) as provider:
            return await listen(provider, request or question(*tools))

    return once


@asynccontextmanager
async def opened(provider):
    try:
        yield provider
    finally:
        await provider.aclose()


@pytest.fixture
def opening() -> Callable:
    """A context that closes the provider it is given."""
    return opened


@pytest.fixture
def on_route() -> Callable:
    """The same request on a changed route."""

    def change(request: ModelRequest, **changes: object) -> ModelRequest:
        return replace(request, route=replace(request.route, **changes))

    return change


@pytest.fixture
def end() -> type[End]:
    """The ways a script may end."""
    return End
