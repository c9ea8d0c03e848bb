"""Settings as a list of keys, each with its value and where that came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, to_builtins

from agent.config.layers import DEFAULT
from agent.config.settings import Loaded
from agent.config.table import Group, Groups, Setting, join_key, settings_of


class Shown(Struct, frozen=True):
    """One setting that holds a value. `value` is of JSON's types; `layer` is where it came from."""

    key: str
    value: object
    layer: str
    default: object
    about: str


def shown(loaded: Loaded, under: tuple[str, ...] = ()) -> list[Shown]:
    """Every setting at or under a key, in the order of the table, with the names that the person chose."""
    return [
        Shown(key, to_builtins(value), loaded.origins.get(key, DEFAULT), to_builtins(setting.default), setting.about)
        for path, setting, value in _values((), loaded.settings)
        if path[: len(under)] == under and (key := join_key(path))
    ]


def _values(path: tuple[str, ...], group: Struct) -> Iterator[tuple[tuple[str, ...], Setting, object]]:
    for setting in settings_of(type(group)):
        here, value = (*path, setting.name), getattr(group, setting.attribute)
        match setting.kind:
            case Group():
                yield from _values(here, value)
            case Groups():
                yield from _each(here, value)
            case _:
                yield here, setting, value


def _each(path: tuple[str, ...], groups: Mapping[str, Struct]) -> Iterator[tuple[tuple[str, ...], Setting, object]]:
    for name, group in groups.items():
        yield from _values((*path, name), group)
