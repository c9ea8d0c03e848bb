"""One request to a server on loopback: by our provider and bare HTTP in turns, then by the SDK's typed way.

All three send the same messages to the same server, which another process is, and read its short answer to the end. What
is counted is the CPU time of this process alone, so that neither the server nor a busy machine is in it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, aclosing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import scenarios
from machine import Machine
from model_server import delta, markdown
from openai import AsyncOpenAI
from scenarios import PORT

from agent.providers.base import ModelRequest, Reply
from agent.providers.body import ChatBody
from agent.providers.chat import ChatProvider
from agent.providers.stream_body import StreamBody
from session.models import ApiMode, Route

SIZES = (100, 400, 1_600)  # messages of a request
ROUNDS = 15
STALL_ROUNDS = 15
TICK_S = 0.0005
PARSED = 100_000  # chunks
PARSE_ROUNDS = 5
PIECE_BYTES = 65_536
URL = f"http://127.0.0.1:{PORT}/hermes/v1"
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{number}",
            "description": "Does one thing to one file and says what came of it.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
    }
    for number in range(6)
]


@dataclass(frozen=True)
class Overhead:
    """CPU milliseconds of one request; p50 of each way."""

    ours_ms: float
    raw_ms: float
    typed_ms: float


class ProviderBench:
    """Every comparison, made when a row first asks for it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._opened = ExitStack()

    def close(self) -> None:
        self._opened.close()

    @cached_property
    def _server(self) -> str:
        """The address of the server, once it listens."""
        folder = self._opened.enter_context(TemporaryDirectory(prefix="provider-bench-"))
        log = Path(folder) / "requests.jsonl"
        log.touch()
        self._opened.enter_context(scenarios.model_server(log))
        ends_at = time.monotonic() + 20
        while time.monotonic() < ends_at:
            try:
                httpx2.get(f"{URL}/models", trust_env=False)
            except httpx2.TransportError:
                time.sleep(0.05)
            else:
                break
        self._machine.sample()
        return URL

    @cached_property
    def overheads(self) -> dict[int, Overhead]:
        return asyncio.run(_overheads(self._server))

    @cached_property
    def stall_ms(self) -> float:
        """The longest that the loop worked at one thing while the largest request was made, sent and answered; p50."""
        return asyncio.run(_stall_ms(self._server))

    @cached_property
    def parse_rate(self) -> float:
        self._machine.sample()
        stream = delta({"content": "word "}).split(b"\r\n")[1] * PARSED
        return PARSED / statistics.median(_parse_s(stream) for _ in range(PARSE_ROUNDS))

    @cached_property
    def memory_mb(self) -> tuple[float, float]:
        """The most memory held while 100,000 and 1,000 chunks of as much text came, less what was held before."""
        many, few = (asyncio.run(_peak_mb(self._server, chunks, 500_000 // chunks)) for chunks in (100_000, 1_000))
        return many, few


def conversation(size: int, prompt: str = "bench:short:warm") -> list[dict[str, Any]]:
    """Prompts, calls and results as in a session of work: 400 bytes a message."""
    rows: list[dict[str, Any]] = [{"role": "system", "content": markdown(1_200)}]
    while len(rows) < size - 1:
        call_id = f"call_{len(rows)}"
        function = {"name": "tool_1", "arguments": json.dumps({"path": f"src/file_{len(rows)}.py"})}
        rows += [
            {"role": "user", "content": markdown(300)},
            {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": call_id, "content": markdown(600)},
            {"role": "assistant", "content": markdown(500)},
        ]  # fmt: skip
    return [*rows[: size - 1], {"role": "user", "content": prompt}]


def asked(url: str, messages: list[dict[str, Any]]) -> ModelRequest:
    return ModelRequest(Route("bench", "bench-model", url, ApiMode.CHAT), messages, TOOLS)


async def whole(provider: ChatProvider, request: ModelRequest) -> Reply:
    async with aclosing(provider.stream(request)) as parts:
        async for part in parts:
            if isinstance(part, Reply):
                return part
    raise AssertionError("no reply came")


async def _overheads(url: str) -> dict[int, Overhead]:
    async with AsyncExitStack() as stack:
        provider = ChatProvider(url)
        stack.push_async_callback(provider.aclose)
        http = await stack.enter_async_context(httpx2.AsyncClient(trust_env=False))
        own_http = httpx2.AsyncClient(trust_env=False)
        sdk = await stack.enter_async_context(
            AsyncOpenAI(api_key="k", base_url=url, max_retries=0, http_client=own_http)
        )
        found: dict[int, Overhead] = {}
        for size in SIZES:
            messages = conversation(size)
            request = asked(url, messages)
            body = {"model": "bench-model", "messages": messages, "tools": TOOLS, "stream": True}

            async def ours(request: ModelRequest = request) -> None:
                await whole(provider, request)

            async def raw(body: dict[str, Any] = body) -> None:
                async with http.stream("POST", f"{url}/chat/completions", json=body) as response:
                    async for _ in response.aiter_bytes():
                        pass

            async def typed(body: dict[str, Any] = body) -> None:
                async with sdk.chat.completions.with_streaming_response.create(**body) as response:
                    async for _ in response.iter_bytes():
                        pass

            # Not all in turns: the typed way empties the caches, and the next would always pay for that.
            found[size] = Overhead(*await _cpu_ms(ours, raw), *await _cpu_ms(typed))
        return found


async def _cpu_ms(*ways: Callable[[], Awaitable[None]]) -> list[float]:
    """The first round is not counted: it imports and connects."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS + 1):
        for way, times in zip(ways, taken, strict=True):
            before_s = time.process_time()
            await way()
            times.append((time.process_time() - before_s) * 1000)
    return [statistics.median(times[1:]) for times in taken]


async def _stall_ms(url: str) -> float:
    provider, request = ChatProvider(url), asked(url, conversation(SIZES[-1]))
    try:
        return statistics.median([await _worst_gap_ms(provider, request) for _ in range(STALL_ROUNDS + 1)][1:])
    finally:
        await provider.aclose()


async def _worst_gap_ms(provider: ChatProvider, request: ModelRequest) -> float:
    worst_s = 0.0

    async def tick() -> None:
        nonlocal worst_s
        while True:
            before_s = time.thread_time()
            await asyncio.sleep(TICK_S)
            worst_s = max(worst_s, time.thread_time() - before_s)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    worst_s = 0.0
    await whole(provider, request)
    await asyncio.sleep(0.01)
    ticking.cancel()
    return worst_s * 1000


def _parse_s(stream: bytes) -> float:
    body = StreamBody(ChatBody([]))
    began_s = time.process_time()
    for at in range(0, len(stream), PIECE_BYTES):
        body.feed(stream[at : at + PIECE_BYTES])
    body.end()
    return time.process_time() - began_s


async def _peak_mb(url: str, chunks: int, size: int) -> float:
    provider = ChatProvider(url)
    try:
        await whole(provider, asked(url, conversation(2)))
        request = asked(url, conversation(2, f"bench:stream:{chunks}:{size}:0:memory"))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        reply = await whole(provider, request)
        assert len(reply.content) > chunks * size
        return (tracemalloc.get_traced_memory()[1] - before) / 2**20
    finally:
        tracemalloc.stop()
        await provider.aclose()
