"""What the config says of requests on a route: options, limits, switches and the header of the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec.structs import asdict, replace

from agent.config.settings import ModelEntry, ProviderSettings, Settings
from agent.providers.compatibility import KNOWN_SWITCHES, STANDARD, Compatibility, KeyHeader
from agent.providers.registry import KNOWN
from agent.providers.watch import Timeouts
from session.models import ApiMode, Route


def request_extras(settings: Settings, route: Route) -> dict[str, object]:
    """What the config adds to the body of each request on this route; a model's own overrides win, mapping by mapping."""
    provider = settings.providers.get(route.provider, ProviderSettings())
    entry = provider.models.get(route.model, ModelEntry())
    options = _options(entry, longest_answer(settings, route), route, compatibility(settings, route))
    return merged(merged(provider.extra_body, options), entry.request_overrides)


def _options(entry: ModelEntry, longest: int | None, route: Route, switches: Compatibility) -> dict[str, object]:
    """What is set of a model, under the names that the protocol has for it."""
    is_chat = route.api_mode is ApiMode.CHAT
    effort = entry.reasoning_effort.value if entry.reasoning_effort else None
    thinking: dict[str, object] = {"reasoning_effort": effort} if is_chat else {"reasoning": {"effort": effort}}
    said: dict[str, object] = {
        **(thinking if effort else {}),
        (switches.max_tokens_field.value if is_chat else "max_output_tokens"): longest,
        "temperature": entry.temperature,
    }
    return {name: value for name, value in said.items() if value is not None}


def longest_answer(settings: Settings, route: Route) -> int | None:
    """The longest answer that is asked for on a route, in tokens; None where nothing is said of it."""
    provider = settings.providers.get(route.provider, ProviderSettings())
    limits = (provider.models.get(route.model, ModelEntry()).max_tokens, settings.agent.max_tokens)
    return min((limit for limit in limits if limit is not None), default=None)


def compatibility(settings: Settings, route: Route) -> Compatibility:
    """The switches of a route: what is known of the server, over it what the config says of it, then of the model.

    A server of the person's own is not taken for the known one whose name it bears.
    """
    provider = settings.providers.get(route.provider, ProviderSettings())
    entry = provider.models.get(route.model, ModelEntry())
    known = KNOWN.get(route.provider)
    is_known_place = known is not None and known.is_at(route.base_url)
    switches = KNOWN_SWITCHES.get(route.provider, STANDARD) if is_known_place else STANDARD
    for said in (provider.compatibility, entry.compatibility):
        switches = replace(switches, **{name: value for name, value in asdict(said).items() if value is not None})
    return switches


def timeouts(settings: Settings, route: Route) -> Timeouts:
    """How long a request on this route may take: what the config says of its provider, else of all."""
    provider = settings.providers.get(route.provider, ProviderSettings())
    own = {name: value for name, value in asdict(provider.timeouts).items() if value is not None}
    return Timeouts(**{**asdict(settings.timeouts), **own, "drain_s": settings.agent.stream_drain_timeout_s})


def key_headers(settings: Settings, route: Route, key: str) -> dict[str, str]:
    """The header that carries the key where that is not the usual one."""
    header = compatibility(settings, route).key_header
    return {header.value: key} if key and header is not KeyHeader.AUTHORIZATION else {}


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """One body of a request over another, mapping by mapping."""
    both = dict(below)
    for name, value in above.items():
        held = both.get(name)
        if isinstance(held, dict) and isinstance(value, dict):
            value = merged(cast("dict[str, object]", held), cast("dict[str, object]", value))
        both[name] = value
    return both
