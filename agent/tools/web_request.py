"""One request for a page of the web, and those that redirects within its host ask for: bounded, checked, and nobody's.

Each request goes out on a connection of its own, without cookies, without a user name or password from anywhere, and
to an address that was looked at (agent/tools/web_address.py). The certificate has to be that of the name.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.config.web_settings import WebSettings
from agent.literal import visible
from agent.tools.web_address import PrivateAddress, Resolve, addresses_of, system_resolve
from agent.tools.web_body import Body, BrokenPacking, UnknownCoding

if TYPE_CHECKING:
    import ssl

    import httpx2

MOST_REDIRECTS = 5
CONNECT_S = 10.0  # to one address
SHOWN_CHARS = 2_000  # of an address that a server names
_PORTS = {"http": 80, "https": 443}
_TEXTS = frozenset(
    {"json", "xml", "javascript", "ecmascript", "yaml", "toml", "ndjson", "jsonlines", "sql", "graphql", "sh", "tex"}
)  # below application/, with x- before them or not
_NAME = re.compile(r"[\w.-]+|[0-9a-f:.]+(?:%[\w.-]+)?", re.ASCII | re.IGNORECASE)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": "hermes (web_fetch)",
    "Accept": "text/html, application/json, text/*;q=0.9, */*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}


class NotFetched(Exception):
    """A page could not be had. The text is a sentence for the model."""


class Answer(Struct, frozen=True):
    """What a server said. `body` is unpacked and bounded; `is_cut` says that there is more of it.

    `url` is what answered at last. Where it is a redirect that is not followed, `leads_to` says where it leads.
    """

    url: str
    status: int
    content_type: str
    body: bytes = b""
    is_cut: bool = False
    size: str = ""  # of the body as the server announced it, "" where it did not
    leads_to: str = ""


def parse_url(text: str) -> httpx2.URL:
    """An http or https address with a host and without a user name. Raises NotFetched."""
    import httpx2

    try:
        url = httpx2.URL(text.strip())
        host = url.raw_host.decode()
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise NotFetched(f"This is no web address: {error}.") from error
    if url.scheme not in _PORTS or not host:
        raise NotFetched("Only addresses that begin with http:// or https:// and name a host can be fetched.")
    if not _NAME.fullmatch(host) or not 0 < _port(url) < 65_536:
        raise NotFetched("This is no web address: its host or its port can't be one.")
    if url.userinfo:
        raise NotFetched("An address with a user name or password in it is not fetched.")
    return url.copy_with(fragment=None)


def place_of(url: httpx2.URL) -> str:
    """The host as it stands in the network's own letters, with the port where it is not the usual one."""
    host, port = _host(url), _port(url)
    shown = f"[{host}]" if ":" in host else host
    return shown if port == _PORTS[url.scheme] else f"{shown}:{port}"


async def fetch(url: httpx2.URL, web: WebSettings, resolve: Resolve = system_resolve) -> Answer:
    """The answer to a GET, behind redirects within the host. Raises NotFetched."""
    import httpx2

    try:
        for _ in range(MOST_REDIRECTS + 1):
            answer = await _ask(url, web, resolve)
            if not answer.leads_to:
                return answer
            following = _followed(url, answer.leads_to)
            if following is None:
                return answer
            url = following
    except PrivateAddress as error:
        raise NotFetched(
            f"Not fetched: {error}. Such addresses are only fetched where web.allow_private is set in the settings."
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
        raise NotFetched(f"{place_of(url)} could not be fetched: {_reason(error)}.") from error
    raise NotFetched(f"{place_of(url)} redirects more than {MOST_REDIRECTS} times, so nothing was fetched.")


def _followed(url: httpx2.URL, leads_to: str) -> httpx2.URL | None:
    """The next address, where it is on the host that was approved: the same port, or https in the place of http."""
    try:
        following = parse_url(leads_to)
    except NotFetched:
        return None
    ports = (url.scheme, _port(url)), (following.scheme, _port(following))
    is_same = ports[0] == ports[1] or ports == (("http", 80), ("https", 443))
    return following if is_same and _host(url) == _host(following) else None


def _host(url: httpx2.URL) -> str:
    return url.raw_host.decode().lower().rstrip(".")


def _port(url: httpx2.URL) -> int:
    return _PORTS[url.scheme] if url.port is None else url.port


# --- one request


async def _ask(url: httpx2.URL, web: WebSettings, resolve: Resolve) -> Answer:
    import httpx2

    proxy = await asyncio.to_thread(_proxy_for, url)
    if proxy and not web.allow_private:
        raise NotFetched(
            "Not fetched: this machine reaches the web through a proxy, and through one hermes can't check which address "
            "is really reached. With web.allow_private in the settings the proxy is used unchecked; NO_PROXY names hosts "
            "that are reached without it."
        )
    context = await asyncio.to_thread(_certificates)
    if proxy:
        return await _through(proxy, url, web, context)
    problem: Exception = OSError("the name has no address")
    for address in await addresses_of(_host(url), _port(url), resolve, allows_private=web.allow_private):
        request = httpx2.Request(
            "GET",
            url.copy_with(host=address),
            headers={"Host": url.netloc.decode(), **_HEADERS},
            extensions={"sni_hostname": _host(url), "timeout": _timeouts(web)},
        )
        try:
            return await _sent(httpx2.AsyncHTTPTransport(verify=context, trust_env=False), request, url, web)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            problem = error
    raise problem


async def _through(proxy: str, url: httpx2.URL, web: WebSettings, context: ssl.SSLContext) -> Answer:
    import httpx2

    request = httpx2.Request("GET", url, headers=_HEADERS, extensions={"timeout": _timeouts(web)})
    try:
        transport = httpx2.AsyncHTTPTransport(verify=context, trust_env=False, proxy=proxy)
    except (ValueError, ImportError) as error:
        raise NotFetched("Not fetched: the proxy in this machine's settings is of a kind hermes can't use.") from error
    return await _sent(transport, request, url, web)


async def _sent(
    transport: httpx2.AsyncHTTPTransport, request: httpx2.Request, url: httpx2.URL, web: WebSettings
) -> Answer:
    async with transport:
        response = await transport.handle_async_request(request)
        try:
            return await _read(response, url, web)
        finally:
            await response.aclose()


async def _read(response: httpx2.Response, url: httpx2.URL, web: WebSettings) -> Answer:
    headers = response.headers
    size, kind = headers.get("content-length", ""), headers.get("content-type", "")
    answer = partial(Answer, str(url), response.status_code, kind, size=size if size.isdigit() else "")
    if response.status_code in _REDIRECTS and (location := headers.get("location")):
        return answer(leads_to=_shortened(str(url.join(location))))
    if not is_text(kind):
        return answer()
    body = await _body(response, web.max_bytes)
    return answer(body=body.content, is_cut=body.is_cut)


def is_text(content_type: str) -> bool:
    """Whether a model can read it. What names no type is looked at when it is here."""
    kind = content_type.partition(";")[0].strip().lower()
    main, _, sub = kind.partition("/")
    if not kind or main == "text" or sub.endswith(("+json", "+xml", "+yaml")):
        return True
    return main == "application" and sub.removeprefix("x-") in _TEXTS


async def _body(response: httpx2.Response, most_bytes: int) -> Body:
    try:
        body = Body(response.headers.get("content-encoding", ""), most_bytes)
        async for piece in response.aiter_raw():
            if not body.add(piece):
                break
    except UnknownCoding as error:
        coding = visible(str(error)[:40])
        raise NotFetched(
            f"Not fetched: the server packed its answer in a way that hermes can't read ({coding})."
        ) from error
    except BrokenPacking as error:
        raise NotFetched("Not fetched: the server's answer is not packed as it says.") from error
    return body


def _timeouts(web: WebSettings) -> Mapping[str, float]:
    rest = float(web.timeout_s)
    return {"connect": min(CONNECT_S, rest), "read": rest, "write": rest, "pool": rest}


def _proxy_for(url: httpx2.URL) -> str:
    """The proxy by which this machine's settings would have the address reached, "" for none."""
    from urllib.request import getproxies, proxy_bypass  # not at the start of the program: it brings http and ssl along

    if proxy_bypass(_host(url)):
        return ""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _certificates() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"


def _reason(error: Exception) -> str:
    import httpx2

    said = visible(str(error)[:300]).strip().rstrip(".")
    if isinstance(error, httpx2.TimeoutException):
        return "it did not answer in time"
    return said or type(error).__name__
