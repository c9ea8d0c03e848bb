"""What a file of a project would do, told a line each by the same readers that would make it so (C24)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath

from yaml import Node, ScalarNode, SequenceNode
from yaml.nodes import MappingNode

from agent.config.dotenv_text import bad_lines, values
from agent.config.project_files import USED, Kind
from agent.config.settings import Sources
from agent.config.settings_reader import read_settings
from agent.config.table import join_key
from agent.config.yaml_tree import LIMIT_DEPTH, LIMIT_VALUES, NotYaml, is_null, pairs, parse, text_of
from agent.providers.registry import KNOWN

LONGEST_VALUE = 200  # characters of one value

Path = tuple[str, ...]


class TooMany(Exception):
    """A text stands for more values than a person can look through; aliases make a small one do so."""


def effects(path: str, kind: Kind, text: str) -> tuple[str, ...]:
    """Never raises for what the text says."""
    told = tuple(_effects(path, kind, text))
    return told if kind in USED else (*told, "this version does not read it yet")


def _effects(path: str, kind: Kind, text: str) -> Iterable[str]:
    match kind:
        case Kind.CONFIG:
            return _of_config(path, text)
        case Kind.ENV:
            return _of_env(text)
        case Kind.PERSONALITY:
            return (f"offers the personality {PurePosixPath(path).stem}",)
        case Kind.HOOK:
            return ("is a hook: a program that runs by itself when something happens, or a part of one",)
        case Kind.INSTRUCTIONS:
            return ("tells the model how to work",)


def _of_config(path: str, text: str) -> Iterator[str]:
    loaded = read_settings(Sources(file="", project=(path, text)))
    try:
        yield from [_of_value(*found) for found in _values(text, loaded.origins)]
    except TooMany:
        yield f"sets more than {LIMIT_VALUES:,} values; look into the file itself"
    yield from (f"ignored: {problem.text}" for problem in loaded.problems)


def _concerns(key: str, name: str) -> bool:
    """Whether a setting was read from what is written under a name: `model: x`, `model.default`, or a part of a mapping."""
    return name == key or name.startswith(f"{key}.") or key.startswith(f"{name}.")


def _of_value(path: Path, value: str) -> str:
    match path:
        case ("providers", provider, "base_url") if provider in KNOWN:
            return f"puts the provider {provider} at {value} instead of {KNOWN[provider].base_url}"
        case ("providers", provider, "base_url"):
            return f"puts the provider {provider} at {value}"
        case ("providers", provider, "key_env"):
            return f"gives the provider {provider} your key {value}"
        case ("providers", provider, "key_cmd"):
            return f"runs the command {value} for a key of {provider}"
        case ("terminal", "env_passthrough"):
            return f"lets commands see {value}"
        case _:
            return f"sets {join_key(path)} to {value}"


def _of_env(text: str) -> Iterator[str]:
    for name, value in values(text).items():
        yield f"sets {name} (the value is not shown)" if value else f"takes {name} away"
    yield from (f"ignored: line {line} takes NAME=value" for line in bad_lines(text))


def _values(text: str, used: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Every value that is used, by the names that lead to it. Raises TooMany."""
    try:
        root = parse(text)
    except NotYaml:
        return
    if isinstance(root, MappingNode):
        yield from _Walk(used).below(root, ())


class _Walk:
    def __init__(self, used: Collection[str]) -> None:
        self._used = used
        self._steps = 0

    def below(self, node: Node, path: Path) -> Iterator[tuple[Path, str]]:
        self._steps += 1
        if self._steps > LIMIT_VALUES or len(path) > LIMIT_DEPTH:
            raise TooMany
        if isinstance(node, MappingNode):
            latest = {text_of(key) or "": value for key, value in pairs(node)}
            if path and not latest:
                yield path, "{}"
            for name, value in latest.items():
                inner = (*path, name)
                if any(_concerns(key, join_key(inner)) for key in self._used):
                    yield from self.below(value, inner)
        elif not is_null(node):
            yield path, _short(_one_line(node))


def _one_line(node: Node) -> str:
    if isinstance(node, SequenceNode):
        return ", ".join(str(item.value) if isinstance(item, ScalarNode) else "(…)" for item in node.value)
    return str(node.value)


def _short(value: str) -> str:
    if len(value) <= LONGEST_VALUE:
        return value
    return f"{value[:LONGEST_VALUE]}… ({len(value):,} characters)"
