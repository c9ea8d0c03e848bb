"""The one place that makes the HTTP client of a provider, and decides what reaches the wire.

The SDK reads OPENAI_API_KEY, OPENAI_ADMIN_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID,
OPENAI_WEBHOOK_SECRET, OPENAI_CUSTOM_HEADERS and OPENAI_LOG from the environment whatever the endpoint is. All of them
are answered here, and the headers are written anew for every request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

KEYLESS = "none"


class Timeouts(Struct, frozen=True):
    """How long a provider waits, in seconds: for a connection, for the next byte, and for the end after the answer."""

    connect_s: float = 30.0
    idle_s: float = 180.0
    drain_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and what it is told about us: the only values of ours that requests to it carry."""

    base_url: str
    api_key: str = field(default=KEYLESS, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def host(self) -> str:
        """Host and port, without any user name or password that the URL may hold; "" when it is no web address."""
        url = self._url()
        return url.netloc.rpartition("@")[2] if url is not None else ""

    @property
    def is_loopback(self) -> bool:
        url = self._url()
        name = (url and url.hostname) or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost" or name.endswith(".localhost")

    def _url(self) -> SplitResult | None:
        try:
            url = urlsplit(self.base_url)
            is_address = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
        except ValueError:
            return None
        return url if is_address else None


class Connection:
    """The SDK client of one endpoint, built off the loop at first use: imports and the TLS context take half a second."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts) -> None:
        self._endpoint = endpoint
        self._timeouts = timeouts
        self._building = asyncio.Lock()
        self._client: AsyncOpenAI | None = None

    async def client(self) -> AsyncOpenAI:
        """Raises ImportError or ValueError when the environment names a proxy that cannot be used."""
        async with self._building:
            if self._client is None:
                self._client = await asyncio.to_thread(self._build)
            return self._client

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _build(self) -> AsyncOpenAI:
        rehearse()
        return _sdk_client(self._endpoint, _http_client(self._endpoint, self._timeouts))


@cache
def failures() -> tuple[type[Exception], ...]:
    """What a request or its stream may raise when the server or the network fails."""
    import httpx2
    from openai import APIError

    return (APIError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


@cache
def rehearse() -> None:
    """Sends one request to nowhere, so that the first real one finds all late imports done. Call it in a thread."""
    import anyio
    import httpx2

    async def run() -> None:
        await (
            anyio.lowlevel.checkpoint()
        )  # loads the half of it that speaks to asyncio, which the transport waits for to be asked
        answer = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"data: [DONE]\n\n"))
        async with _sdk_client(Endpoint("http://localhost/v1"), httpx2.AsyncClient(transport=answer)) as client:
            create = client.chat.completions.with_streaming_response.create
            async with create(model="none", messages=[], stream=True) as response:
                async for _ in response.iter_bytes():
                    pass

    failures()
    asyncio.run(run())


def _sdk_client(endpoint: Endpoint, http_client: httpx2.AsyncClient) -> AsyncOpenAI:
    """Every value that the SDK would look up in the environment is given; empty ones do not reach the wire."""
    from openai import AsyncOpenAI

    logging.getLogger("openai").setLevel(logging.WARNING)  # OPENAI_LOG would write over the screen
    return AsyncOpenAI(
        api_key=endpoint.api_key,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=endpoint.base_url,
        max_retries=0,
        http_client=http_client,
    )


def _http_client(endpoint: Endpoint, timeouts: Timeouts) -> httpx2.AsyncClient:
    """Proxies of the environment are honoured, except on the way to this machine itself.

    Redirects are not followed: the key belongs to the server that the person named.
    """
    import httpx2

    async def write_headers(request: httpx2.Request) -> None:
        request.headers = httpx2.Headers(_headers(endpoint, request.url.netloc.decode(), len(request.content)))

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeouts.idle_s, connect=timeouts.connect_s, pool=timeouts.connect_s),
        trust_env=not endpoint.is_loopback,
        follow_redirects=False,
        event_hooks={"request": [write_headers]},
    )


def _headers(endpoint: Endpoint, host: str, size_bytes: int) -> dict[str, str]:
    own = {name.lower(): value for name, value in endpoint.headers.items()}
    return {
        "host": host,
        "user-agent": "hermes-tui",
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",  # a compressed stream waits in buffers on its way
        "content-type": "application/json",
        "authorization": f"Bearer {endpoint.api_key}",
        "x-stainless-raw-response": "stream",  # by this the SDK knows that it must not parse the answer
        **own,
        "content-length": str(size_bytes),
    }
