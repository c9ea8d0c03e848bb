"""What reaches the wire: the endpoint's own values, and the same bytes as the SDK's typed way."""

from __future__ import annotations

import asyncio
import sys

import pytest

from agent.providers.chat import ChatProvider
from agent.providers.http import Endpoint

DONE = b"data: [DONE]\n\n"
HOSTILE = {
    "OPENAI_API_KEY": "sk-hostile-key",
    "OPENAI_ADMIN_KEY": "hostile-admin",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/hostile",
    "OPENAI_ORG_ID": "hostile-org",
    "OPENAI_PROJECT_ID": "hostile-project",
    "OPENAI_WEBHOOK_SECRET": "hostile-webhook",
    "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer hostile\nHost: hostile\nX-Hostile: hostile\nContent-Length: 1",
    "OPENAI_API_VERSION": "hostile",
    "OPENAI_API_TYPE": "azure",
    "AZURE_OPENAI_API_KEY": "hostile",
    "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1/hostile",
    "OPENAI_LOG": "debug",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "ALL_PROXY": "socks5://127.0.0.1:1",
    "NO_PROXY": "",
}


@pytest.fixture
def served(wire):
    wire.stream(wire.chunk({"content": "ok"}, "stop"), DONE)
    return wire


@pytest.fixture(params=["sk-own-key", ""])
def key(request):
    return request.param


async def test_nothing_of_the_environment_reaches_the_wire(served, ask, monkeypatch, key):
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    told = await ask(key=key, headers={"X-Own": "yes"})
    assert told.reply.content == "ok"
    (sent,) = served.requests
    assert sent.path == "/v1/chat/completions"
    assert "hostile" not in f"{sent}".lower()
    assert sent.headers["authorization"] == f"Bearer {key or 'none'}"
    assert sent.headers["host"] == f"127.0.0.1:{served.port}"
    assert sent.headers["x-own"] == "yes"
    assert "openai-organization" not in sent.headers
    assert "openai-project" not in sent.headers


@pytest.fixture
def distant(monkeypatch, question, on_route):
    """A request to another machine, with no proxy in the environment yet."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return on_route(question(), base_url="http://model.invalid/v1")


async def test_a_proxy_of_the_environment_is_used_for_other_machines(served, distant, listen, opening, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{served.port}")
    async with opening(ChatProvider("http://model.invalid/v1")) as provider:
        assert (await listen(provider, distant)).reply.content == "ok"
    assert served.requests[0].path == "http://model.invalid/v1/chat/completions"
    assert served.requests[0].headers["host"] == "model.invalid"


async def test_a_proxy_that_cannot_be_used_is_told(distant, listen, opening, monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    async with opening(ChatProvider("http://model.invalid/v1")) as provider:
        assert "proxy" in (await listen(provider, distant)).error.sentence.lower()


async def test_an_own_header_replaces_ours(served, ask):
    await ask(headers={"Authorization": "Basic b3du", "OpenAI-Organization": "own"})
    sent = served.requests[0].headers
    assert (sent["authorization"], sent["openai-organization"]) == ("Basic b3du", "own")


async def test_the_key_stays_with_its_endpoint(served, question, on_route, opening):
    async with opening(ChatProvider("http://127.0.0.1:1/v1", "sk-secret-1234")) as provider:
        with pytest.raises(ValueError, match="base_url"):
            await anext(provider.stream(question()))
    assert served.requests == []


async def test_a_redirect_is_not_followed(wire, ask):
    wire.answer("307 Temporary Redirect", "", "Location: http://127.0.0.1:1/elsewhere")
    error = (await ask()).error
    assert "http://127.0.0.1:1/elsewhere" in error.sentence
    assert len(wire.requests) == 1


async def test_usage_is_asked_for_and_the_model_and_messages_are_sent(served, ask, question):
    await ask(request=question("read"))
    assert served.requests[0].json == {
        "messages": [{"role": "user", "content": "hi"}],
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
    }


@pytest.mark.parametrize("tools", [(), ("read", "write")])
@pytest.mark.parametrize("extra", [{}, {"temperature": 0.5, "provider": {"order": ["a"]}}])
async def test_the_bytes_are_those_of_the_typed_way(served, ask, question, tools, extra):
    from openai import AsyncOpenAI, omit

    messages = [
        {"role": "system", "content": "Sei höflich ☂"},
        {"role": "user", "content": 'a\n"b"'},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
    ]  # fmt: skip
    request = question(*tools, messages=messages, **extra)
    await ask(request=request)
    async with AsyncOpenAI(api_key="k", base_url=served.base_url, max_retries=0) as client:
        await client.chat.completions.create(
            model="m",
            messages=request.messages,
            tools=request.tools or omit,
            stream=True,
            stream_options={"include_usage": True},
            extra_body=extra,
        )
    ours, typed = (sent.body for sent in served.requests)
    assert ours == typed


async def test_extra_body_wins_and_nested_options_are_merged(served, ask, question):
    extra = {"model": "other", "temperature": None, "stream_options": {"zz": 1}}
    await ask(request=question(**extra))
    sent = served.requests[0].json
    assert (sent["model"], sent["temperature"]) == ("other", None)
    assert sent["stream_options"] == {"include_usage": True, "zz": 1}


@pytest.mark.parametrize(
    ("base_url", "host", "is_loopback"),
    [
        ("http://127.0.0.1:11434/v1", "127.0.0.1:11434", True),
        ("http://127.8.8.8/v1", "127.8.8.8", True),
        ("http://localhost:8080/v1", "localhost:8080", True),
        ("http://[::1]:8080/v1", "[::1]:8080", True),
        ("https://me:secret@example.com/v1", "example.com", False),
        ("http://192.168.0.2/v1", "192.168.0.2", False),
        ("https://localhost.example.com/v1", "localhost.example.com", False),
    ],
)
def test_an_endpoint_knows_its_host(base_url, host, is_loopback):
    endpoint = Endpoint(base_url)
    assert (endpoint.host, endpoint.is_loopback) == (host, is_loopback)


def test_an_endpoint_never_prints_its_key():
    assert "secret" not in repr(Endpoint("http://h/v1", "sk-secret", {"x-key": "secret"}))


FIRST_TURN = """
import asyncio, sys
from agent.providers.base import ModelRequest
from agent.providers.chat import ChatProvider
from session.models import ApiMode, Route

async def main(base_url):
    provider = ChatProvider(base_url)
    print(*(name for name in ("openai", "httpx", "httpx2", "anyio") if name in sys.modules), sep=",")
    await provider.warm()
    known = set(sys.modules)
    async for _ in provider.stream(ModelRequest(Route("t", "m", base_url, ApiMode.CHAT), [], [])):
        pass
    print(*(name for name in set(sys.modules) - known if not name.startswith("encodings")), sep=",")
    await provider.aclose()

asyncio.run(main(sys.argv[1]))
"""


async def test_a_warmed_provider_imports_nothing_at_its_first_request_and_a_new_one_nothing_heavy(served):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FIRST_TURN, served.base_url, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 20)
    assert out.decode().split("\n") == ["", "", ""]
