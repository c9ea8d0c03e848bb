"""The one place that makes the HTTP client of a provider, and decides what reaches the wire.

The SDK reads OPENAI_API_KEY, OPENAI_ADMIN_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID,
OPENAI_WEBHOOK_SECRET, OPENAI_CUSTOM_HEADERS and OPENAI_LOG from the environment whatever the endpoint is. All of them
are answered here, and the headers are written anew for every request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, cast
from urllib.parse import SplitResult, urlsplit

from agent.providers.address import without_query
from agent.providers.compatibility import KeyHeader
from agent.providers.sdk_bypass import Incoming, posted, unwrapped
from agent.providers.watch import WATCH, Overdue, Watch
from agent.providers.wire_log import CURRENT
from session.models import ApiMode

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

    from agent.providers.watch import NetworkStream

KEYLESS = "none"


@dataclass(frozen=True, slots=True)
class Network:
    """The way to a server where it is not that of the environment: a proxy, and whose certificates are trusted."""

    proxy: str = ""
    ca_file: str = ""


class BadCertificates(ValueError):
    """The file of certificates that a person named can't be used."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and what it is told about us: the only values of ours that requests to it carry."""

    base_url: str
    api_key: str = field(default=KEYLESS, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    network: Network = Network()

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

    def __init__(self, endpoint: Endpoint, typed: ApiMode | None = None) -> None:
        self._endpoint = endpoint
        self._typed = typed  # the protocol in which requests take the SDK's own way
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
        rehearse(self._typed)
        return _sdk_client(self._endpoint, _http_client(self._endpoint))


@cache
def failures() -> tuple[type[Exception], ...]:
    """What a request or its stream may raise when the server or the network fails."""
    import httpx2
    from openai import APIError

    return (APIError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, Overdue)


@cache
def rehearse(typed: ApiMode | None = None) -> None:
    """Sends one request to nowhere, so that the first real one finds all late imports done. Call it in a thread."""
    import anyio
    import httpx2

    async def run() -> None:
        await (
            anyio.lowlevel.checkpoint()
        )  # loads the half of it that speaks to asyncio, which the transport waits for to be asked
        answer = httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"data: [DONE]\n\n"))
        async with (
            _sdk_client(Endpoint("http://localhost/v1"), httpx2.AsyncClient(transport=answer)) as client,
            _asked(client, typed) as response,
        ):
            async for _ in response.aiter_bytes():
                pass

    failures()
    asyncio.run(run())
    _http_client(Endpoint("https://localhost/v1"))  # with what a connection needs, and the certificates


def _asked(client: AsyncOpenAI, typed: ApiMode | None) -> AbstractAsyncContextManager[Incoming]:
    match typed:
        case None:
            return posted(client, "/none", {"extra_body": {}})
        case ApiMode.RESPONSES:
            return unwrapped(client.responses.with_streaming_response.create(model="none", input=[], stream=True))
        case _:
            create = client.chat.completions.with_streaming_response.create
            return unwrapped(create(model="none", messages=[], stream=True))


def _sdk_client(endpoint: Endpoint, http_client: httpx2.AsyncClient) -> AsyncOpenAI:
    """Every value that the SDK would look up in the environment is given; empty ones do not reach the wire."""
    from openai import AsyncOpenAI

    logging.getLogger("openai").setLevel(logging.WARNING)  # OPENAI_LOG would write over the screen
    base_url, query = without_query(endpoint.base_url)
    return AsyncOpenAI(
        api_key=endpoint.api_key,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=base_url,
        default_query=query,
        max_retries=0,
        http_client=http_client,
    )


def _http_client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """Proxies of the environment are honoured, except on the way to this machine itself.

    Redirects are not followed: the key belongs to the server that the person named. The client itself waits for
    connections only; how long an answer may take is the business of its `Watch`.
    """
    import httpx2

    async def write_headers(request: httpx2.Request) -> None:
        size_bytes = len(request.content)
        request.headers = httpx2.Headers(_headers(endpoint, request.url.netloc.decode(), size_bytes))
        if attempt := CURRENT.get():
            attempt.sent(endpoint.host, request.url.path, size_bytes)
        if watch := WATCH.get():
            watch.sent(endpoint.host, size_bytes)
            connect_s = watch.timeouts.connect_s or None
            request.extensions = {
                **request.extensions,
                "timeout": httpx2.Timeout(None, connect=connect_s, pool=connect_s).as_dict(),
                "trace": partial(_follow, watch),
            }

    async def note_opening(response: httpx2.Response) -> None:
        if attempt := CURRENT.get():
            attempt.opened(response)
        if watch := WATCH.get():
            watch.connected(response.extensions["network_stream"])

    return httpx2.AsyncClient(
        timeout=None,
        trust_env=not endpoint.is_loopback,
        proxy=endpoint.network.proxy or None,
        verify=_certificates(endpoint.network.ca_file),
        follow_redirects=False,
        event_hooks={"request": [write_headers], "response": [note_opening]},
    )


async def _follow(watch: Watch, step: str, about: dict[str, object]) -> None:
    """Tells a watch what the HTTP layer does."""
    match step, about:
        case "connection.connect_tcp.started", {"host": str(host), "port": int(port)}:
            watch.contacted(host, port)
        case "connection.connect_tcp.complete", {"return_value": stream}:
            watch.connected(cast("NetworkStream", stream))
        case _:
            pass


@cache
def _trusted() -> ssl.SSLContext:
    """What this machine trusts, read once: it takes 50 ms, and a client would read it for itself and for each proxy."""
    import httpx2

    return httpx2.create_ssl_context()


def _certificates(ca_file: str) -> ssl.SSLContext:
    if not ca_file:
        return _trusted()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as failure:  # of which SSLError is one: the file holds no certificate
        raise BadCertificates(
            f"The file of certificates {ca_file} can't be used: {failure.strerror or failure}."
        ) from None


def _headers(endpoint: Endpoint, host: str, size_bytes: int) -> dict[str, str]:
    own = {name.lower(): value for name, value in endpoint.headers.items()}
    bearer = {} if KeyHeader.API_KEY in own else {"authorization": f"Bearer {endpoint.api_key}"}
    return {
        "host": host,
        "user-agent": "hermes-tui",
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",  # a compressed stream waits in buffers on its way
        "content-type": "application/json",
        **bearer,
        "x-stainless-raw-response": "stream",  # by this the SDK knows that it must not parse the answer
        **own,
        "content-length": str(size_bytes),
    }
