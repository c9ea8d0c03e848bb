"""`hermes provider check`: asks a model server a few small things, says what works, and saves what must be set for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing, closing

from msgspec import Struct, to_builtins

from agent.config.config_file import set_setting
from agent.config.table import join_key
from agent.open import Providers
from agent.profile import Profile
from agent.providers.base import ErrorKind, ModelRequest, Provider, ProviderError, Reply
from agent.providers.http import Endpoint
from agent.providers.local import LocalServer, NoModelList, bearer, list_models, probe_local
from agent.providers.probe import MOST_REQUESTS, SUBJECTS, Finding, Probe, Server, Verdict
from agent.route import choose_route
from agent.route_settings import compatibility, key_headers, request_extras
from session.errors import UserError
from session.models import ApiMode, Route
from tui.cli.console import answer, ask, data, has_screen, remark
from tui.cli.options import ProviderOptions

REQUEST_S = 120.0  # a model on a slow machine that thinks first
LIST_S = 10.0
LABEL_CHARS = max(map(len, SUBJECTS))
VERDICT_CHARS = max(map(len, Verdict))


class NothingToCheck(UserError):
    """The route is the built-in demo, perhaps because what is configured can't be used."""

    sentence = "{problem}The built-in demo needs no check. Name a model server: hermes provider check NAME"


class NobodyToAsk(UserError):
    """A server that may cost money, and no terminal."""

    sentence = (
        "{host} would be asked with your key {key}, which may cost a little, and there is nobody to ask whether it may. "
        "To go ahead: hermes provider check --yes"
    )


class Checked(Struct, frozen=True):
    """What a run found. `switches` are to be set for the provider."""

    route: Route
    requests: int
    findings: list[Finding]
    switches: dict[str, str | bool]

    @property
    def answers(self) -> bool:
        return self.findings[0].verdict is Verdict.WORKS


def run_provider(options: ProviderOptions, environ: Mapping[str, str]) -> int:
    """1 where the server does not answer, or the person said no. With --json one object is printed. Raises UserError."""
    profile = Profile.load(environ, name=options.profile)
    with closing(profile):
        choice = choose_route(profile.settings, profile.secrets, options.name or None, asyncio.run(_local(profile)))
        if choice.route.api_mode is ApiMode.DEMO:
            raise NothingToCheck(problem=f"{choice.problem} " if choice.problem else "")
        if not _may_ask(choice.route, options):
            remark("Nothing was asked.")
            return 1
        checked = asyncio.run(_checked(profile, choice.route, is_told=not options.as_json))
        is_saved = _saved(profile, checked, options)
        if options.as_json:
            data(json.dumps(_record(checked, is_saved)))
        return 0 if checked.answers else 1


def _may_ask(route: Route, options: ProviderOptions) -> bool:
    """Says what will happen, and asks once where a key, and with it perhaps money, is at stake. Raises NobodyToAsk."""
    host = Endpoint(route.base_url).host or route.base_url
    if not options.as_json:
        remark(f"Asking {route.model} at {route.provider} ({host}) with at most {MOST_REQUESTS} small requests.")
    if not route.key_ref or options.yes:
        return True
    if options.as_json or not has_screen():
        raise NobodyToAsk(host=host, key=route.key_ref)
    return ask(f"They are sent with your key {route.key_ref} and may cost a little. Go on? [y/N] ")


async def _local(profile: Profile) -> list[LocalServer]:
    return await probe_local() if profile.settings.probe_local else []


async def _checked(profile: Profile, route: Route, *, is_told: bool) -> Checked:
    providers = Providers(profile)
    clients: dict[ApiMode, Provider] = {}
    probe = Probe(_server(profile, providers, clients, route))
    findings: list[Finding] = []
    try:
        async with aclosing(probe.run()) as found:
            async for finding in found:
                findings.append(finding)
                if is_told:
                    answer(_line(finding))
    finally:
        await asyncio.gather(*(client.aclose() for client in clients.values()))
        await providers.close()
    return Checked(route, probe.requests, findings, probe.switches)


def _server(profile: Profile, providers: Providers, clients: dict[ApiMode, Provider], route: Route) -> Server:
    """The server as the probe asks it. `clients` are made when first needed, and for the caller to close."""

    async def once(request: ModelRequest) -> Reply:
        mode = request.route.api_mode
        if mode not in clients:
            clients[mode] = providers.direct(request.route)
        try:
            async with asyncio.timeout(REQUEST_S), aclosing(clients[mode].stream(request)) as parts:
                async for part in parts:
                    if isinstance(part, Reply):
                        return part
        except TimeoutError as error:
            raise ProviderError(ErrorKind.TIMEOUT, f"No whole answer came within {REQUEST_S:.0f} s.") from error
        raise AssertionError("a stream ends with a reply or an error")

    async def window() -> int | None:
        try:
            key = await providers.key(route)
            headers = key_headers(profile.settings, route, key) or bearer(key)
            listed = await list_models(route.base_url, headers, LIST_S)
        except (NoModelList, UserError):
            return None
        return next((model.window for model in listed if model.id == route.model), None)

    settings = profile.settings
    return Server(route, compatibility(settings, route), request_extras(settings, route), once, window)


def _saved(profile: Profile, checked: Checked, options: ProviderOptions) -> bool:
    """Saves the switches where the person wants it, and says so. Raises NotSaved."""
    if not checked.switches:
        if checked.answers and not options.as_json:
            remark("Nothing has to be set for this server.")
        return False
    file = f"{profile.home.shown}/{profile.home.config.name}"
    path = ("providers", checked.route.provider, "compatibility")
    settings = {(*path, name): _written(value) for name, value in checked.switches.items()}
    if not options.as_json:
        answer("\n".join(["", "To be set:", *(f"  {join_key(keys)}: {value}" for keys, value in settings.items())]))
    if not options.is_saving and (options.as_json or not has_screen() or not ask(f"Save this in {file}? [y/N] ")):
        if not options.as_json:
            remark("Nothing was saved; hermes provider check --save does it.")
        return False
    for keys, value in settings.items():
        set_setting(profile.home.config, keys, value, file)
    if not options.as_json:
        remark(f"Saved in {file}.")
    return True


def _written(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(finding: Finding) -> str:
    why = " ".join(finding.why.split())
    return f"{finding.subject:<{LABEL_CHARS}}  {finding.verdict:<{VERDICT_CHARS}}  {why}"


def _record(checked: Checked, is_saved: bool) -> dict[str, object]:
    route = checked.route
    return {
        "provider": route.provider,
        "model": route.model,
        "base_url": route.base_url,
        "requests": checked.requests,
        "findings": to_builtins(checked.findings),
        "switches": {
            name: value if isinstance(value, bool) else str(value) for name, value in checked.switches.items()
        },
        "saved": is_saved,
    }
