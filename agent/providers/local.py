"""Which models a server says it has: those on this machine, and whether a hosted one still knows our default."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agent.providers.address import below
from agent.providers.registry import KNOWN, LOCAL, KnownModel, KnownProvider
from agent.providers.wire_json import Object, as_count, as_list, as_object, as_text, parsed
from session.models import ApiMode, Route

if TYPE_CHECKING:
    import httpx2

LIST_LIMIT_BYTES = 4_000_000
MAX_LISTED = 5_000

# Where servers state the window they serve, of a model or in its `meta`. llama.cpp's n_ctx_train is what a model was
# trained with, not what is served.
WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "n_ctx")


class LocalServer(Struct, frozen=True):
    """A server that answered on this machine, with the models it lists in its own order."""

    name: str
    label: str
    base_url: str
    models: tuple[KnownModel, ...]

    @property
    def first_model(self) -> KnownModel | None:
        """The first model that can chat; embedding models are listed beside the others."""
        return next((model for model in self.models if "embed" not in model.id.lower()), None)


class NoModelList(Exception):
    """The server did not answer with a list of models. `status` is that of its answer, 0 where there was none."""

    def __init__(self, url: str, status: int = 0) -> None:
        super().__init__(url)
        self.status = status


async def probe_local(timeout_s: float = 0.3, servers: Sequence[KnownProvider] = LOCAL) -> list[LocalServer]:
    """Ask the local servers together; those that answer in time, in the order of `servers`."""
    await _load_httpx2()  # outside the time that the servers have
    found = await asyncio.gather(*(_probe(server, timeout_s) for server in servers))
    return [server for server in found if server is not None]


async def check_model(route: Route, key: str | None, timeout_s: float = 5.0) -> str | None:
    """A sentence when the server lists models and this one is not among them. None when it is, or nobody can tell."""
    if route.api_mode is ApiMode.DEMO:
        return None
    try:
        models = await list_models(route.base_url, bearer(key), timeout_s)
    except NoModelList:
        return None
    listed = [model.id for model in models]
    if not listed or route.model in listed:
        return None
    return f"{route.provider} does not list the model {route.model}. {_instead(route, listed)}"


def _instead(route: Route, listed: Sequence[str]) -> str:
    known = KNOWN.get(route.provider)
    ours = [model.id for model in known.models if model.id in listed] if known else []
    names = ", ".join((ours or list(listed))[:3])
    return f"Choose one it has with /model {route.provider}:NAME, for example: {names}."


async def _probe(server: KnownProvider, timeout_s: float) -> LocalServer | None:
    try:
        models = await list_models(server.base_url, {}, timeout_s)
    except NoModelList:
        return None
    return LocalServer(server.name, server.label, server.base_url, models) if models else None


async def list_models(base_url: str, headers: Mapping[str, str], timeout_s: float) -> tuple[KnownModel, ...]:
    """GET {base_url}/models, within `timeout_s` as a whole. Raises NoModelList."""
    await _load_httpx2()
    import httpx2

    try:
        async with asyncio.timeout(timeout_s), await open_client(base_url) as client:
            body = await _body(client, below(base_url, "models"), headers)
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise NoModelList(base_url) from error
    return await asyncio.to_thread(_models, body)


def bearer(key: str | None) -> dict[str, str]:
    """The header that carries a key to most servers."""
    return {"Authorization": f"Bearer {key}"} if key else {}


async def open_client(base_url: str) -> httpx2.AsyncClient:
    """A client that obeys no proxy variable and follows no redirect: a key goes to its own server or nowhere."""
    import httpx2

    if base_url.startswith("http:"):
        # No TLS will be spoken, so the certificates are not loaded.
        return httpx2.AsyncClient(trust_env=False, verify=False)
    return await asyncio.to_thread(lambda: httpx2.AsyncClient(trust_env=False))


async def _body(client: httpx2.AsyncClient, url: str, headers: Mapping[str, str]) -> bytes:
    async with client.stream("GET", url, headers=headers, timeout=None) as answer:
        if answer.status_code != 200:
            raise NoModelList(url, answer.status_code)
        body = bytearray()
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > LIST_LIMIT_BYTES:
                raise NoModelList(url)
    return bytes(body)


def _models(body: bytes) -> tuple[KnownModel, ...]:
    try:
        listed = as_list(as_object(parsed(body)).get("data"))
    except ValueError as error:
        raise NoModelList("not JSON") from error
    return tuple(_known(listed[:MAX_LISTED]))


def _known(listed: Iterable[object]) -> Iterable[KnownModel]:
    for item in listed:
        fields = as_object(item)
        name = as_text(fields.get("id"))
        # An id ends up in a status bar and in a request: other programs also listen on these ports.
        if 0 < len(name) <= 200 and name.isprintable():
            # Gemini lists "models/NAME" and takes NAME.
            yield KnownModel(name.removeprefix("models/"), _window(fields))


def _window(fields: Object) -> int | None:
    holders = (fields, as_object(fields.get("meta")))
    sizes = (as_count(holder.get(name)) for holder in holders for name in WINDOW_FIELDS)
    return next((size for size in sizes if size), None)


async def _load_httpx2() -> None:
    """Its first import takes a tenth of a second, which the loop does not wait for."""
    await asyncio.to_thread(importlib.import_module, "httpx2")
