"""Which model answers: from what a person configured, or has lying ready, to one `Route`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from msgspec import Struct
from msgspec.structs import replace

from agent.config.alias_settings import AliasSettings
from agent.config.secrets import Secrets
from agent.config.settings import CompatibilitySettings, ModelEntry, ProviderSettings, Settings
from agent.providers.keys import key_name
from agent.providers.local import LocalServer
from agent.providers.registry import DEMO, DEMO_ROUTE, HOSTED, KNOWN, KnownProvider
from session.errors import UserError
from session.models import ApiMode, Route


class RouteError(UserError):
    """A model that was asked for can't be reached as it is configured."""


class MissingKey(RouteError):
    """The provider takes a key, and there is none."""

    sentence = "The provider {provider} needs a key. {how}"


class Choice(Struct, frozen=True):
    """The route to start with, and what to tell about it.

    `is_paid_guess`: nobody named this provider, its key was merely in the environment; the first send is confirmed.
    `problem`: what was configured but can't be had, when the demo stands in for it. `lacking`: the keys of which any one
    would change the choice.
    """

    route: Route
    why: str
    how_to_change: str
    is_paid_guess: bool = False
    problem: str = ""
    lacking: tuple[str, ...] = ()


def choose_route(
    settings: Settings, secrets: Secrets, model: str | None = None, local: Sequence[LocalServer] = ()
) -> Choice:
    """What was asked for; else what the config names; else a key; else a local server; else the demo.

    Raises RouteError only for `model`, which a person named just now. A config that can't be followed never leads to
    a guess: that could send a conversation to a server nobody chose.
    """
    book = Routes(settings, secrets, local)
    if model:
        route = book.resolve(model)
        return Choice(route, _answers(route, "the command line"), _how(settings))
    if settings.unread:
        return _stand_in(settings, settings.unread)
    try:
        configured = book.configured()
    except MissingKey as error:
        return replace(_stand_in(settings, str(error)), lacking=(str(error.values["key_env"]),))
    except RouteError as error:
        return _stand_in(settings, str(error))
    if configured is not None:
        return Choice(configured, _answers(configured, settings.model_source), _how(settings))
    return _by_key(book) or _by_local_server(book) or _demo(settings)


def resolve(
    name: str, settings: Settings, secrets: Secrets, current: Route | None = None, local: Sequence[LocalServer] = ()
) -> Route:
    """The route for `provider:model`, an alias, a provider, a model of the current provider, or `demo`.

    Raises RouteError.
    """
    return Routes(settings, secrets, local).resolve(name, current)


def auxiliary_route(settings: Settings, secrets: Secrets, main: Route, local: Sequence[LocalServer] = ()) -> Route:
    """The route for titles and summaries: what `auxiliary` names, else the main one. Raises RouteError."""
    provider, model = settings.auxiliary.provider, settings.auxiliary.model
    book = Routes(settings, secrets, local)
    if provider in ("", "auto"):
        return book.resolve(model, main) if model else main
    return DEMO_ROUTE if provider == DEMO else book.route(provider, model)


def missing_key(provider: str, key_env: str, secrets: Secrets) -> MissingKey:
    """What to do about it, on the screen and in a shell: the same sentence is read in both."""
    if secrets.is_routed:
        how = (
            f"Give it with /key {key_env} on the screen, or put {key_env}=... into {secrets.file}. "
            "Keys in the environment are for the profile hermes was started for."
        )
    else:
        how = (
            f"Give it with /key {key_env} on the screen or hermes secrets set {key_env} in a shell, "
            f"or set {key_env} in the environment before you start hermes."
        )
    return MissingKey(provider=provider, key_env=key_env, how=how)


class Routes(Struct, frozen=True):
    """All routes that can be taken with these settings, keys and local servers."""

    settings: Settings
    secrets: Secrets
    local: Sequence[LocalServer] = ()

    def resolve(self, name: str, current: Route | None = None) -> Route:
        wanted = name.strip()
        if not wanted or not wanted.isprintable() or len(wanted) > 200:
            raise RouteError(reason="Name a model as provider:model, for example openai:gpt-4.1, or demo.")
        if wanted == DEMO:
            return DEMO_ROUTE
        alias = self.alias(wanted)
        return self._in_full(wanted, current) if alias is None else self._by_alias(*alias)

    def _in_full(self, wanted: str, current: Route | None) -> Route:
        provider, colon, model = wanted.partition(":")
        if colon and model.strip() and self._knows(provider):
            return self.route(provider, model.strip())
        if self._knows(wanted):
            return self.route(wanted, "")
        return self._bare(wanted, current)

    def configured(self) -> Route | None:
        """What config.yaml asks for, None where it leaves the choice to us. Raises RouteError."""
        if self.settings.model.flaw:
            raise RouteError(reason=self.settings.model.flaw)
        model, provider = self.settings.model.default, self.settings.model.provider
        if provider == DEMO or (model == DEMO and not provider):
            return DEMO_ROUTE
        if provider and provider != "auto":
            return self.route(provider, model)
        if model:
            return self._bare_default(model)
        ready = (name for name, entry in self.settings.providers.items() if entry.models)
        first = next(ready, None)
        return None if first is None else self.route(first, "")

    def route(self, provider: str, model: str) -> Route:
        """The route to a model of a provider, its default where `model` is empty. Raises RouteError."""
        own, known = self.settings.providers.get(provider), KNOWN.get(provider)
        if own is not None and own.flaw:
            raise RouteError(reason=f"{own.flaw} Until it is corrected, {provider} is not used.")
        if own is None and known is None:
            raise RouteError(reason=self._unknown(provider))
        route = self._place(provider, own or ProviderSettings(), known)
        return self._with_model(route, model or self._default_model(provider), own or ProviderSettings(), known)

    def has_key(self, provider: KnownProvider) -> bool:
        return self.secrets.has(provider.key_env)

    def alias(self, name: str) -> tuple[str, AliasSettings] | None:
        """A name of the person's own, as it is written in the config, and what it stands for."""
        named = self.settings.model_aliases.items()
        return next(((known, alias) for known, alias in named if known.lower() == name.lower()), None)

    def as_now(self, stored: Route) -> Route:
        """A route of an earlier time, as the config has its server now. Raises RouteError where it has none any more.

        A server that moved is followed, with the key that the config gives it now: neither an old address nor an old key
        goes with what is new.
        """
        if stored.api_mode is ApiMode.DEMO or self.settings.unread:
            return stored
        alias = self.alias(stored.provider)
        if alias is not None and alias[1].base_url:
            return stored if alias[1].base_url == stored.base_url else self._by_alias(*alias)
        own, known = self.settings.providers.get(stored.provider), KNOWN.get(stored.provider)
        address = (own.base_url if own else "") or (known.base_url if known else "")
        if own is None and known is None:
            raise RouteError(reason=self._unknown(stored.provider))
        return self.with_window(stored) if address == stored.base_url else self.route(stored.provider, stored.model)

    # --- inside

    def _bare_default(self, model: str) -> Route:
        """model.default without a provider belongs to the only one that the config describes, else to one known to have it."""
        names = [name for name, own in self.settings.providers.items() if _is_described(own)]
        return self.resolve(model, Route(names[0], "", "", ApiMode.CHAT) if len(names) == 1 else None)

    def _by_alias(self, name: str, alias: AliasSettings) -> Route:
        """What a name of the person's own stands for: never a matter of which model answers at the moment."""
        if alias.flaw or not alias.model:
            flaw = alias.flaw or f"model_aliases.{name} names no model."
            raise RouteError(reason=f"{flaw} Until it is corrected in {self._file}, {name} is not used.")
        if not alias.base_url:
            return self._in_full(alias.model, None) if not alias.provider else self.route(alias.provider, alias.model)
        if self._knows(name):
            reason = f"{name} is the name of a provider and of an alias with an address of its own in {self._file}."
            raise RouteError(reason=f"{reason} Give the alias another name.")
        if alias.key_env and not self.secrets.has(alias.key_env):
            raise missing_key(name, alias.key_env, self.secrets)
        window = alias.context_length or self._stated_window(alias.base_url, alias.model)
        return Route(name, alias.model, alias.base_url, alias.api_mode, alias.key_env, window)

    def _place(self, name: str, own: ProviderSettings, known: KnownProvider | None) -> Route:
        base_url = own.base_url or (known.base_url if known else "")
        if not base_url:
            example = f", for example {known.example}" if known and known.example else ""
            raise RouteError(
                reason=f"The provider {name} has no address. Set providers.{name}.base_url in {self._file}{example}."
            )
        key_env = key_name(name, own)
        if key_env and not self.secrets.has(key_env):
            raise missing_key(name, key_env, self.secrets)
        return Route(name, "", base_url, own.api_mode, key_env)

    def _with_model(self, route: Route, model: str, own: ProviderSettings, known: KnownProvider | None) -> Route:
        named = replace(route, model=model)
        return replace(named, window=self._window(named, own, known))

    def with_window(self, route: Route) -> Route:
        """A route of earlier with its window as it is known by now."""
        own, known = self.settings.providers.get(route.provider, ProviderSettings()), KNOWN.get(route.provider)
        return replace(route, window=self._window(route, own, known) or route.window)

    def _window(self, route: Route, own: ProviderSettings, known: KnownProvider | None) -> int | None:
        entry = own.models.get(route.model, ModelEntry())
        is_known_place = known is not None and known.is_at(route.base_url)
        listed = {item.id: item.window for item in known.models} if known and is_known_place else {}
        stated = self._stated_window(route.base_url, route.model)
        return entry.context_length or own.context_length or stated or listed.get(route.model)

    def _stated_window(self, base_url: str, model: str) -> int | None:
        servers = (server for server in self.local if server.base_url == base_url)
        return next((item.window for server in servers for item in server.models if item.id == model), None)

    def _default_model(self, provider: str) -> str:
        own, known = self.settings.providers.get(provider), KNOWN.get(provider)
        if own is not None and own.models:
            return next(iter(own.models))
        server = next((server for server in self.local if server.name == provider), None)
        if server is not None and server.first_model is not None:
            return server.first_model.id
        if known is not None and known.models:
            return known.models[0].id
        raise RouteError(
            reason=f"No model of {provider} is named. Write {provider}:MODEL, or set model.default in {self._file}."
        )

    def _bare(self, wanted: str, current: Route | None) -> Route:
        """A model without a provider: one of the current provider's, else one that a usable provider is known to have."""
        prefix, colon, _ = wanted.partition(":")
        if colon and get_close_matches(prefix, self._names(), n=1, cutoff=0.8):
            raise RouteError(reason=self._unknown(prefix))
        if current is not None and current.api_mode is not ApiMode.DEMO:
            return self.route(current.provider, wanted)
        owner = self._owner(wanted)
        if owner:
            return self.route(owner, wanted)
        if colon and "/" not in prefix:
            raise RouteError(reason=self._unknown(prefix))
        raise RouteError(
            reason=f"No provider is known for the model {wanted}. Write provider:model, for example openai:{wanted}."
        )

    def _owner(self, model: str) -> str:
        """The first provider at hand that has this model, "" for none."""
        by_config = (name for name, entry in self.settings.providers.items() if model in entry.models)
        by_server = (server.name for server in self.local if any(item.id == model for item in server.models))
        by_table = (item.name for item in HOSTED if self.has_key(item) and any(m.id == model for m in item.models))
        return next((name for names in (by_config, by_server, by_table) for name in names), "")

    def _knows(self, name: str) -> bool:
        return name in self.settings.providers or name in KNOWN

    def _names(self) -> list[str]:
        return [*self.settings.providers, *KNOWN]

    def _unknown(self, name: str) -> str:
        close = get_close_matches(name, self._names(), n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(self._names())}."
        return f"There is no provider {name}. {hint} Others can be added under providers in {self._file}."

    @property
    def _file(self) -> str:
        return self.settings.file


def _is_described(own: ProviderSettings) -> bool:
    """Whether more is said of a provider than what it wants: `hermes provider check` saves that for any it is asked for."""
    return replace(own, compatibility=CompatibilitySettings()) != ProviderSettings()


def _by_key(book: Routes) -> Choice | None:
    """The first provider of the table whose key is at hand."""
    for known in HOSTED:
        if not book.has_key(known):
            continue
        try:
            route = book.route(known.name, "")
        except RouteError:
            continue
        if route.key_ref == known.key_env:
            is_set_here = book.secrets.is_set_here(known.key_env)
            why = f"{known.key_env} is set in {book.secrets.source(known.key_env)}, so {route.model} at {known.label} answers."
            return Choice(route, why, _how(book.settings), is_paid_guess=not is_set_here)
    return None


def _by_local_server(book: Routes) -> Choice | None:
    for server in book.local:
        if server.first_model is None:
            continue
        try:
            route = book.route(server.name, server.first_model.id)
        except RouteError:
            continue
        if route.base_url == server.base_url:
            why = f"{server.label} runs on this machine and no key was found, so its model {route.model} answers."
            return Choice(route, why, _how(book.settings))
    return None


def _demo(settings: Settings) -> Choice:
    why = "No model is configured and no key was found, so the built-in demo answers."
    how = f"On the screen, /model chooses another one and takes its key. {settings.file} can name one, too."
    return Choice(DEMO_ROUTE, why, how, lacking=tuple(known.key_env for known in HOSTED))


def _stand_in(settings: Settings, problem: str) -> Choice:
    why = "The configured model can't be used, so the built-in demo answers."
    return Choice(DEMO_ROUTE, why, _how(settings), problem=problem)


def _answers(route: Route, source: str) -> str:
    name = "The built-in demo" if route == DEMO_ROUTE else f"{route.model} at {route.provider}"
    return f"{name} answers, as {source} says."


def _how(settings: Settings) -> str:
    return f"Change it with /model, or set model.default in {settings.file}."
