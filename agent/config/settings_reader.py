"""The layers of settings, read into one Settings: whatever is wrong becomes a problem, the rest holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from agent.config.alias_settings import AliasSettings
from agent.config.layers import (
    DEFAULT,
    LOWEST_FIRST,
    PROJECT,
    USER,
    Layer,
    Unusable,
    file_layer,
    given_layers,
)
from agent.config.problem import Problem
from agent.config.section import Notes, Section
from agent.config.settings import Loaded, ModelSettings, ProviderSettings, Settings, Sources
from agent.config.table import (
    Body,
    Choice,
    Command,
    Decimal,
    Group,
    Groups,
    Headers,
    Lists,
    Names,
    Setting,
    Text,
    Whole,
    settings_of,
)
from agent.providers.registry import DEMO, KNOWN

Table = TypeVar("Table", bound=Struct)


def read_settings(sources: Sources) -> Loaded:
    """The settings that all sources together say. Never raises for what they say."""
    notes = Notes([], {})
    layers: list[Layer] = []
    unread = ""
    for found in _layers(sources):
        if isinstance(found, Problem):
            notes.problems.append(found)
            unread = unread or (found.sentence if found.file == sources.file else "")
        else:
            layers.append(found)
    top = Section([(layer, layer.root) for layer in layers], (), notes)
    top.long_form("model", "default")
    settings = _without_other_provider(_group(top, Settings), notes.origins)
    chosen_in = {notes.origins.get(f"model.{key}") for key in ("default", "provider")}
    model_source = next((layer.file for layer in reversed(layers) if layer.name in chosen_in), sources.file)
    settings = replace(settings, file=sources.file, unread=unread, model_source=model_source)
    problems = sorted(notes.problems, key=lambda problem: problem.line or 0)
    return Loaded(settings, tuple(problems), notes.origins)


def _layers(sources: Sources) -> Iterator[Layer | Problem]:
    if sources.unreadable:
        yield Problem(sources.file, f"{sources.unreadable}; until then the defaults hold.")
    files = [(USER, sources.file, sources.text or "")]
    files += [(PROJECT, *sources.project)] if sources.project else []
    for name, file, text in files:
        try:
            layer = file_layer(name, file, text)
        except Unusable as error:
            yield error.problem
        else:
            if layer is not None:
                yield layer
    yield from given_layers(sources)


def _group(section: Section, kind: type[Table]) -> Table:
    given = {setting.attribute: _value(section, setting) for setting in settings_of(kind)}
    section.finish()
    return kind(**{name: value for name, value in given.items() if value is not None})


def _value(section: Section, setting: Setting) -> object:
    """What the layers say of a setting, None where they say nothing that it takes."""
    key = setting.name
    if setting.is_unused:
        section.unused(key)
    if setting.is_personal:
        section.leave_out_projects(key)
    match setting.kind:
        case Text(takes):
            return section.text(key, takes)
        case Whole(low, high):
            return section.whole(key, low, high, setting.default if isinstance(setting.default, int) else None)
        case Decimal(low, high):
            return section.decimal(key, low, high, setting.default if isinstance(setting.default, float) else None)
        case Choice(values):
            if setting.is_tightened:
                section.leave_out_looser(key, tuple(values))
            return section.choice(key, values)
        case Names(takes, is_joined):
            return section.joined(key, takes) if is_joined else section.names(key, takes)
        case Command():
            return section.command(key)
        case Headers():
            return section.headers(key)
        case Lists(names, texts):
            return section.lists(key, names, texts)
        case Body():
            return section.body(key)
        case Group(of=kind):
            return _checked(section.section(key), kind)
        case Groups(of=kind, takes=takes, short_for=short):
            return {name: _checked(inner, kind) for name, inner in section.sections(key, takes, short).items()}


def _checked(section: Section, kind: type[Struct]) -> Struct:
    """A group, with what is wrong in the part of it that decides where a request and a key go."""
    match _group(section, kind):
        case ModelSettings() as model:
            return replace(model, flaw=section.flaw(("default", "provider")))
        case ProviderSettings() as provider:
            flaw = section.flaw(("base_url", "key_env", "key_cmd", "api_mode", "proxy", "ca_file"))
            return replace(
                _own_key(section, _own_way(section, provider)), base_url=provider.base_url.rstrip("/"), flaw=flaw
            )
        case AliasSettings() as alias:
            flaw = section.flaw(("model", "provider", "base_url", "key_env", "api_mode"))
            return replace(alias, base_url=alias.base_url.rstrip("/"), flaw=flaw)
        case other:
            return other


def _without_other_provider(settings: Settings, origins: dict[str, str]) -> Settings:
    """A model that is named with its provider is none of the provider that a lower layer names."""
    model = settings.model
    default, provider = (LOWEST_FIRST.index(origins.get(f"model.{key}", DEFAULT)) for key in ("default", "provider"))
    named = model.default.partition(":")[0]
    if default <= provider or not (named in settings.providers or named in KNOWN or named == DEMO):
        return settings
    origins.pop("model.provider", None)
    return replace(settings, model=replace(model, provider=""))


def _own_way(section: Section, provider: ProviderSettings) -> ProviderSettings:
    """A project never says by which way the person's conversations and keys go to a server that it did not name (C25)."""
    origins = section.notes.origins
    if origins.get(section.key("base_url")) == PROJECT:
        return provider
    mine = {key: origins.get(section.key(key)) != PROJECT for key in ("proxy", "ca_file")}
    return replace(
        provider,
        proxy=provider.proxy if mine["proxy"] else "",
        ca_file=provider.ca_file if mine["ca_file"] else "",
    )


def _own_key(section: Section, provider: ProviderSettings) -> ProviderSettings:
    """A server that a project names gets only a key that the project names: never the person's for another one (C25)."""
    origins = section.notes.origins
    if origins.get(section.key("base_url")) != PROJECT:
        return provider
    own = {key for key in ("key_env", "key_cmd") if origins.get(section.key(key)) != USER}
    return replace(
        provider,
        key_env=provider.key_env if "key_env" in own else "",
        key_cmd=provider.key_cmd if "key_cmd" in own else "",
    )
