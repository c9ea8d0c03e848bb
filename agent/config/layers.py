"""Where settings come from, lowest first, each as a tree of the same shape as config.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from yaml import Node
from yaml.nodes import MappingNode, ScalarNode

from agent.config.problem import Problem
from agent.config.settings import Sources
from agent.config.table import (
    Body,
    Command,
    Groups,
    Names,
    Setting,
    environment_name,
    environment_names,
    find,
    split_key,
)
from agent.config.yaml_tree import TAG, NotYaml, is_null, line_of, parse

USER, PROJECT, ENVIRONMENT, COMMAND_LINE, DEFAULT = "user", "project", "environment", "flags", "default"
LOWEST_FIRST = (DEFAULT, USER, PROJECT, ENVIRONMENT, COMMAND_LINE)


class Layer(Struct, frozen=True):
    """One source: `name` for `hermes config list`, `file` as problems name it."""

    name: str
    file: str
    root: MappingNode

    def spelled(self, key: str) -> str:
        """A key the way this source writes it."""
        return environment_name(key) if self.name == ENVIRONMENT else key


class Unusable(Exception):
    """A file as a whole can't be used."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


def file_layer(name: str, file: str, text: str) -> Layer | None:
    """The layer of a file, None for an empty one. Raises Unusable."""
    until = "the defaults hold" if name == USER else "nothing of it holds"
    try:
        root = parse(text)
    except NotYaml as error:
        why = f"this is not valid YAML ({error.why}); until it is corrected {until}."
        raise Unusable(Problem(file, why, error.line)) from error
    if root is None or is_null(root):
        return None
    if not isinstance(root, MappingNode):
        raise Unusable(Problem(file, f"the file takes `name: value` lines; until then {until}.", line_of(root)))
    return Layer(name, file, root)


def given_layers(sources: Sources) -> Iterator[Layer | Problem]:
    """One layer for each variable and each flag, or what is wrong with a flag."""
    for name, value in sources.environ.items():
        path = split_key(environment_names()[name])
        yield Layer(ENVIRONMENT, "the environment", nested(path, scalar(value)))
    for key, value in sources.flags.items():
        yield _flag_layer(key, value)


def _flag_layer(key: str, value: str) -> Layer | Problem:
    path = split_key(key)
    if not path:
        return Problem("the command line", "--set takes KEY=VALUE, with a key such as agent.max_turns.")
    try:
        return Layer(COMMAND_LINE, "the command line", nested(path, value_node(find(path), value)))
    except NotYaml as error:
        return Problem("the command line", f"{key} takes valid YAML ({error.why}).", None, key)


def value_node(setting: Setting | None, text: str) -> Node:
    """A value that a person typed for a setting, as it would stand in the file. Raises NotYaml."""
    kind = setting.kind if setting is not None else None
    is_list = isinstance(kind, Names | Command) and text.lstrip().startswith("[")
    if is_list or isinstance(kind, Body | Groups) or text.lstrip().startswith("{"):
        return parse(text) or scalar("")
    return scalar(text)


def scalar(text: str) -> ScalarNode:
    """A text that no YAML rule reads anything into."""
    return ScalarNode(f"{TAG}str", text)


def nested(path: tuple[str, ...], value: Node) -> MappingNode:
    """The tree that holds a value at a path and nothing else."""
    node = value
    for part in reversed(path):
        node = MappingNode(f"{TAG}map", [(scalar(part), node)])
    assert isinstance(node, MappingNode)
    return node
