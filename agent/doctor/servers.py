"""The model servers that are configured or have a key: whether they answer."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from agent.config.secrets import Secrets
from agent.config.settings import ProviderSettings, Settings
from agent.doctor.finding import Finding, Grade
from agent.providers.address import below
from agent.providers.keys import key_name
from agent.providers.local import bearer, open_client
from agent.providers.registry import HOSTED, KNOWN, LOCAL
from agent.route_settings import key_headers
from session.models import ApiMode, Route

AREA = "providers"
TIMEOUT_S = 2.0
LOCAL_TIMEOUT_S = 0.3


class Server(Struct, frozen=True):
    """A place to ask. `key_env` names its key, "" where it takes none; a command that gives it is not run for this."""

    name: str
    base_url: str
    key_env: str
    is_configured: bool = True
    has_command: bool = False


def servers(settings: Settings, secrets: Secrets) -> list[Server]:
    """The configured ones, then those whose key is at hand, then, if they may be looked for, those of this machine."""
    own = [_own(name, entry) for name, entry in settings.providers.items()]
    named = {server.name for server in own}
    found = [
        known
        for known in HOSTED
        if known.name not in named and _is_wanted(known.name, known.key_env, settings, secrets)
    ]
    local = [known for known in LOCAL if known.name not in named] if settings.probe_local else []
    places = [Server(known.name, known.base_url, known.key_env) for known in found]
    return [*own, *places, *(Server(known.name, known.base_url, "", is_configured=False) for known in local)]


async def examine_servers(wanted: Sequence[Server], settings: Settings, secrets: Secrets) -> list[Finding]:
    """Ask them all at once. Each is sent its own key and nothing else."""
    flawed = {name: entry.flaw for name, entry in settings.providers.items() if entry.flaw}
    told = [Finding(AREA, Grade.PROBLEM, f"{name} can't be used: {flaw}") for name, flaw in flawed.items()]
    asked = [server for server in wanted if server.name not in flawed and server.base_url]
    await asyncio.to_thread(importlib.import_module, "httpx2")
    answers = await asyncio.gather(*(_examine(server, settings, secrets) for server in asked))
    return [*told, *(finding for findings in answers for finding in findings)] or [_none()]


def unasked(wanted: Sequence[Server]) -> Iterator[Finding]:
    """What is known without asking anybody."""
    for server in wanted:
        if server.is_configured:
            yield Finding(AREA, Grade.NOTE, f"{server.name} at {server.base_url} was not asked.")
    if not any(server.is_configured for server in wanted):
        yield _none()


def _own(name: str, entry: ProviderSettings) -> Server:
    known = KNOWN.get(name)
    base_url = entry.base_url or (known.base_url if known else "")
    return Server(name, base_url, key_name(name, entry), has_command=bool(entry.key_cmd))


def _is_wanted(name: str, key_env: str, settings: Settings, secrets: Secrets) -> bool:
    return settings.model.provider == name or secrets.get(key_env) is not None


async def _examine(server: Server, settings: Settings, secrets: Secrets) -> list[Finding]:
    key = secrets.get(server.key_env) if server.key_env else None
    route = Route(server.name, "", server.base_url, ApiMode.CHAT, server.key_env)
    headers = key_headers(settings, route, key or "") or bearer(key)
    status = await _ask(server, headers, TIMEOUT_S if server.is_configured else LOCAL_TIMEOUT_S)
    if not server.is_configured:
        said = f"{server.name} answers on this machine ({server.base_url})."
        return [Finding(AREA, Grade.OK, said)] if status == 200 else []
    return [_judged(server, status, has_key=key is not None)]


def _judged(server: Server, status: int | str, *, has_key: bool) -> Finding:
    place = f"{server.name} at {server.base_url}"
    match status:
        case 200:
            return Finding(AREA, Grade.OK, f"{place} answers.")
        case str(why):
            fix = "check the address, your network, and whether the server runs"
            return Finding(AREA, Grade.WARNING, f"{place} was not reached: {why}.", fix)
        case 401 | 403 if server.has_command:
            return Finding(AREA, Grade.OK, f"{place} answers; the command that gives its key was not run.")
        case 401 | 403 if has_key:
            fix = f"set {server.key_env} anew: hermes secrets set {server.key_env}"
            return Finding(AREA, Grade.WARNING, f"{place} answers, but does not take its key ({status}).", fix)
        case 401 | 403:
            fix = f"hermes secrets set {server.key_env}" if server.key_env else "name its key in key_env"
            return Finding(AREA, Grade.WARNING, f"{place} answers and wants a key ({status}).", fix)
        case 404 | 405:
            return Finding(AREA, Grade.OK, f"{place} answers; it lists no models ({status}).")
        case _:
            return Finding(AREA, Grade.WARNING, f"{place} answers with status {status}.", "ask again later")


async def _ask(server: Server, headers: Mapping[str, str], timeout_s: float) -> int | str:
    """The status of GET {base_url}/models, or why there is none."""
    import httpx2

    try:
        async with (
            asyncio.timeout(timeout_s),
            await open_client(server.base_url) as client,
            client.stream("GET", below(server.base_url, "models"), headers=headers, timeout=None) as answer,
        ):
            return answer.status_code
    except TimeoutError:
        return f"no answer within {timeout_s:.0f} s"
    except httpx2.ConnectError as error:
        return "its name is not known" if _is_unresolved(error) else "nothing listens there"
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ValueError) as error:
        return type(error).__name__


def _is_unresolved(error: BaseException) -> bool:
    import socket

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _none() -> Finding:
    said = "No provider is configured and no key was found; the built-in demo answers."
    return Finding(AREA, Grade.NOTE, said, "hermes secrets set OPENAI_API_KEY, or name a model in config.yaml")
