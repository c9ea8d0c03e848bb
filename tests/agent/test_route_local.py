"""Asking servers on loopback what they have: together, in time, through no proxy."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from agent.providers.local import check_model, list_models, probe_local
from agent.providers.registry import DEMO_ROUTE, KnownModel, KnownProvider
from session.models import ApiMode, Route

Serve = Callable[[bytes | None], Awaitable["Served"]]


class Served:
    """A real HTTP server of one answer; None accepts and never answers."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.requests: list[str] = []
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
            if self.answer is None:
                await reader.read()
            else:
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with AsyncExitStack() as stack:

        async def start(answer: bytes | None) -> Served:
            served = Served(answer)
            await stack.enter_async_context(served.running())
            return served

        yield start


def http(body: object, status: str = "200 OK", headers: str = "") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(raw)}\r\nConnection: close\r\n{headers}\r\n".encode() + raw


def models(*items: object) -> bytes:
    return http({"object": "list", "data": list(items)})


def known(name: str, served: Served) -> KnownProvider:
    return KnownProvider(name, name.title(), served.base_url)


async def free_port() -> int:
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def test_servers_that_answer_are_found_in_the_order_of_the_table(serve: Serve):
    first = await serve(models({"id": "a", "max_model_len": 4096}, {"id": "b"}))
    nobody = KnownProvider("nobody", "Nobody", f"http://127.0.0.1:{await free_port()}/v1")
    second = await serve(models({"id": "c", "context_length": 8192}))
    found = await probe_local(5.0, [known("first", first), nobody, known("second", second)])
    assert [(server.name, server.base_url, server.models) for server in found] == [
        ("first", first.base_url, (KnownModel("a", 4096), KnownModel("b"))),
        ("second", second.base_url, (KnownModel("c", 8192),)),
    ]


@pytest.mark.parametrize(
    ("stated", "window"),
    [
        ({"context_length": 8192}, 8192),
        ({"max_model_len": 8192}, 8192),
        ({"n_ctx": 8192}, 8192),
        ({"meta": {"n_ctx": 8192, "n_ctx_train": 131_072}}, 8192),
        ({"meta": {"n_ctx_train": 131_072}}, None),  # what it was trained with is not what is served
        ({"context_length": "8192"}, None),
        ({"context_length": 0, "max_model_len": True}, None),
        ({}, None),
    ],
)
async def test_G08_a_list_of_models_may_state_the_window(serve: Serve, stated: dict[str, object], window: int | None):
    server = await serve(models({"id": "a", **stated}))
    assert await list_models(server.base_url, {}, 5.0) == (KnownModel("a", window),)


async def test_silent_servers_cost_no_more_than_the_limit_together(serve: Serve):
    await probe_local(0.1, [])  # the first import is not part of the wait
    silent = [known(f"s{n}", await serve(None)) for n in range(4)]
    good = known("good", await serve(models({"id": "a"})))
    began = time.monotonic()
    found = await probe_local(1.0, [*silent, good])
    assert time.monotonic() - began < 3  # one after the other they would take four
    assert [server.name for server in found] == ["good"]


async def test_the_loop_goes_on_while_it_waits(serve: Serve):
    silent = known("s", await serve(None))
    probing = asyncio.create_task(probe_local(0.3, [silent]))
    ticks = 0
    while not probing.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks >= 3


@pytest.mark.parametrize(
    "answer",
    [
        http(b"<html>a wiki</html>"),
        http({"models": []}),
        http({"data": []}),
        http({"data": "x"}),
        http([1]),
        http({"data": [{"id": 5}, {"name": "x"}, "x", None, {"id": ""}, {"id": "a\x1b[2Jb"}, {"id": "x" * 999}]}),
        http(b"[" * 100_000),
        http(b"\xff\xfe"),
        http({"data": [{"id": "a"}]}, "500 Oops"),
        http(b"", "302 Found", "Location: http://127.0.0.1:1/v1/models\r\n"),
        http(b"", "101 Switching Protocols"),
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
        b"",
    ],
    ids=lambda answer: repr(answer[-24:]),
)
async def test_another_program_on_the_port_is_no_model_server(serve: Serve, answer: bytes):
    assert await probe_local(2.0, [known("x", await serve(answer))]) == []


async def test_no_proxy_is_used(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    proxy, server = await serve(models({"id": "proxied"})), await serve(models({"id": "direct"}))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    (found,) = await probe_local(2.0, [known("x", server)])
    assert found.models == (KnownModel("direct"),)
    assert proxy.requests == []


async def test_a_probe_sends_no_key(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hostile")
    served = await serve(models({"id": "a"}))
    await probe_local(2.0, [known("x", served)])
    assert served.requests[0].startswith("GET /v1/models ")
    assert "authorization" not in served.requests[0].lower()


# --- is the default model still there


def route(served: Served, model: str = "wanted") -> Route:
    return Route("openai", model, served.base_url, ApiMode.CHAT, "OPENAI_API_KEY")


async def test_a_model_that_is_not_listed_is_one_sentence_with_what_there_is(serve: Serve):
    served = await serve(models({"id": "other"}, {"id": "gpt-4o"}))
    said = await check_model(route(served), "sk-mine")
    assert said is not None
    assert said.startswith("openai does not list the model wanted.")
    assert "gpt-4o" in said
    assert "authorization: bearer sk-mine" in served.requests[0].lower()


@pytest.mark.parametrize("listed", ["wanted", "models/wanted"])
async def test_a_listed_model_needs_no_word(serve: Serve, listed: str):
    assert await check_model(route(await serve(models({"id": listed}))), None) is None


@pytest.mark.parametrize("answer", [http({}, "401 Unauthorized"), http({"data": []}), http(b"<html>"), b""])
async def test_a_server_that_does_not_tell_is_not_blamed(serve: Serve, answer: bytes):
    assert await check_model(route(await serve(answer)), "sk-mine") is None


async def test_a_key_does_not_follow_a_redirect(serve: Serve):
    elsewhere = await serve(models({"id": "wanted"}))
    answer = http(b"", "302 Found", f"Location: {elsewhere.base_url}/models\r\n")
    await check_model(route(await serve(answer)), "sk-mine")
    assert elsewhere.requests == []


async def test_a_silent_server_and_a_key_no_header_can_hold_are_bounded(serve: Serve):
    served = await serve(None)
    assert await check_model(route(served), "sk-mine", 0.2) is None
    assert await check_model(route(served), "sk-\nmine", 0.2) is None
    assert await check_model(route(served), "sk-é", 0.2) is None


async def test_the_demo_asks_nobody():
    assert await check_model(DEMO_ROUTE, None) is None
