"""The models there are to choose from: which servers, whether they can be had, and what each of them lists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from agent.config.settings import PriceSettings, ProviderSettings
from agent.prices import price_of
from agent.profile import Profile
from agent.providers.keys import key_name
from agent.providers.local import LocalServer, NoModelList, bearer, list_models
from agent.providers.registry import DEMO, HOSTED, KNOWN, LOCAL, OWN_ADDRESS, KnownModel, KnownProvider
from agent.route import RouteError, Routes
from agent.route_settings import key_headers
from session.errors import UserError
from session.models import ApiMode, Route

LIST_S = 8.0  # how long a server may take to tell its models


class Standing(StrEnum):
    """Whether the models of a server can be had."""

    READY = "ready"
    NEEDS_KEY = "needs a key"
    IS_AWAY = "not running"  # a local one that did not answer
    IS_FLAWED = "to be set up"


class ServerLine(Struct, frozen=True):
    """A model server as a list shows it. `about` says why it can't be had; `key` is the name of the one it takes."""

    name: str
    label: str
    base_url: str
    standing: Standing
    key: str = ""
    about: str = ""
    models: tuple[KnownModel, ...] = ()  # known without asking it


class ModelLine(Struct, frozen=True):
    """A model as a list shows it: `name` is what `resolve` takes. `price` and `window` are None where nobody told them."""

    name: str
    model: str
    window: int | None = None
    price: PriceSettings | None = None


class ListedModels(Struct, frozen=True):
    """The models of one server. `note` says what is not true of the list, "" for nothing."""

    lines: tuple[ModelLine, ...]
    note: str = ""


class Catalogue:
    """Of one profile, with the servers that answered on this machine."""

    def __init__(self, profile: Profile, local: Sequence[LocalServer]) -> None:
        self._profile = profile
        self._local = {server.name: server for server in local}
        self._book = Routes(profile.settings, profile.secrets, local)

    def aliases(self) -> tuple[ModelLine, ...]:
        """The person's own names, with what they stand for."""
        found: list[ModelLine] = []
        for name in self._profile.settings.model_aliases:
            try:
                route = self._book.resolve(name)
            except RouteError:
                continue
            where = route.base_url if route.provider == name else route.provider
            found.append(ModelLine(name, f"{route.model} at {where}", route.window, self._price(route)))
        return tuple(found)

    def servers(self) -> tuple[ServerLine, ...]:
        """Those that can be had first, and of these the person's own."""
        own = [self._server(name) for name in self._profile.settings.providers]
        others = [
            known for known in (*LOCAL, *HOSTED, *OWN_ADDRESS) if known.name not in self._profile.settings.providers
        ]
        lines = [*own, *(self._server(known.name) for known in others)]
        demo = ServerLine(DEMO, "Built-in demo", "", Standing.READY, models=(KnownModel(DEMO, 32_000),))
        order = list(Standing)
        return tuple(sorted((*lines, demo), key=lambda line: order.index(line.standing)))

    def server(self, name: str) -> ServerLine:
        """One of them, as it stands now: a key may have been saved."""
        return next(line for line in self.servers() if line.name == name)

    async def models(self, server: ServerLine) -> ListedModels:
        """Ask a server for its models; where it tells none, those that are known of it."""
        if server.name == DEMO:
            return ListedModels(self._lines(server, server.models))
        try:
            route = self._book.route(server.name, "?")
            key = await self._profile.secrets.fresh(route.key_ref) if route.key_ref else None
            headers = key_headers(self._profile.settings, route, key or "") or bearer(key)
            listed = await list_models(route.base_url, headers, LIST_S)
        except NoModelList as error:
            return ListedModels(self._lines(server, server.models), _why_unlisted(server, error.status))
        except UserError as error:
            return ListedModels(self._lines(server, server.models), str(error))
        return await asyncio.to_thread(lambda: ListedModels(self._lines(server, self._merged(server, listed))))

    # --- inside

    def _server(self, name: str) -> ServerLine:
        own, known = self._profile.settings.providers.get(name), KNOWN.get(name)
        label = known.label if known else name
        base_url = (own.base_url if own else "") or (known.base_url if known else "")
        key = key_name(name, own or ProviderSettings())
        line = ServerLine(name, label, base_url, Standing.READY, key, models=self._known(name, own, known, base_url))
        try:
            self._book.route(name, "?")
        except RouteError as error:
            needs_key = bool(key and base_url) and not self._profile.secrets.has(key) and not (own and own.flaw)
            return _but(line, Standing.NEEDS_KEY if needs_key else Standing.IS_FLAWED, str(error))
        if own is None and known in LOCAL and name not in self._local:
            return _but(line, Standing.IS_AWAY, f"Nothing answers at {base_url}.")
        return line

    def _known(
        self, name: str, own: ProviderSettings | None, known: KnownProvider | None, base_url: str
    ) -> tuple[KnownModel, ...]:
        """The configured ones first, then those of a server here, then those of the table; each once."""
        here = self._local[name].models if name in self._local else ()
        listed = known.models if known is not None and known.is_at(base_url) else ()
        configured = [KnownModel(model) for model in own.models] if own else []
        return tuple({model.id: model for model in reversed((*configured, *here, *listed))}.values())[::-1]

    def _merged(self, server: ServerLine, listed: Sequence[KnownModel]) -> tuple[KnownModel, ...]:
        """What the server lists: those that were known before first, the others by their names."""
        there = {model.id: model for model in listed}
        first = [there[model.id] for model in server.models if model.id in there]
        configured = self._profile.settings.providers.get(server.name, ProviderSettings()).models
        unlisted = [model for model in server.models if model.id in configured and model.id not in there]
        named = {model.id for model in first}
        rest = sorted((model for model in there.values() if model.id not in named), key=lambda model: model.id)
        return (*unlisted, *first, *rest)

    def _lines(self, server: ServerLine, models: Sequence[KnownModel]) -> tuple[ModelLine, ...]:
        return tuple(self._line(server, model) for model in models)

    def _line(self, server: ServerLine, model: KnownModel) -> ModelLine:
        if server.name == DEMO:
            return ModelLine(DEMO, DEMO, model.window, price_of(self._profile.settings, DEMO, DEMO))
        own = self._profile.settings.providers.get(server.name, ProviderSettings())
        route = self._book.with_window(Route(server.name, model.id, server.base_url, own.api_mode, window=model.window))
        price = price_of(self._profile.settings, server.name, model.id)
        return ModelLine(f"{server.name}:{model.id}", model.id, route.window, price)

    def _price(self, route: Route) -> PriceSettings | None:
        return None if route.api_mode is ApiMode.DEMO else price_of(self._profile.settings, route.provider, route.model)


def _why_unlisted(server: ServerLine, status: int) -> str:
    if status in (401, 403) and server.key:
        return f"{server.base_url} refuses {server.key} ({status}). Another one is given with /key {server.key}"
    known = "; these are known of it." if server.models else ". Write the name of one to use it."
    return f"{server.base_url} gave no list of models{known}"


def _but(line: ServerLine, standing: Standing, about: str) -> ServerLine:
    return replace(line, standing=standing, about=about)
