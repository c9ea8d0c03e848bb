"""A YAML text as a tree that still knows its lines, and its parts as plain JSON values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from yaml import Node, ScalarNode, SequenceNode, YAMLError
from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import MappingNode
from yaml.reader import ReaderError

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Loader

LIMIT_VALUES = 10_000
LIMIT_DEPTH = 40
WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
TAG = "tag:yaml.org,2002:"


class NotYaml(Exception):
    """The text is no YAML. `line` counts from 1."""

    def __init__(self, why: str, line: int | None) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class NotPlain(Exception):
    """A part can't be sent as JSON. The text says what is in the way."""


def parse(text: str) -> Node | None:
    """The tree of a text, None for an empty one. Raises NotYaml."""
    try:
        return Loader(text).get_single_node()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotYaml(_plainly(error.problem or error.context or "broken"), mark.line + 1 if mark else None) from error
    except ReaderError as error:
        raise NotYaml(error.reason, text.encode()[: error.position].count(b"\n") + 1) from error
    except (YAMLError, ValueError) as error:
        raise NotYaml("broken", None) from error
    except RecursionError as error:  # libyaml has a limit of its own, the Python loader has this one
        raise NotYaml("nested too deeply", None) from error


def _plainly(problem: str) -> str:
    """What the parser complains of; in other words where its own say nothing to a person."""
    if problem.endswith("cannot start any token"):
        return "a tab or another character that nothing begins with; indent with spaces"
    return "a second document begins there" if problem == "but found another document" else problem


def line_of(node: Node) -> int | None:
    """The line in the file, None for a node that was not read from one."""
    mark: Mark | None = node.start_mark
    return None if mark is None else mark.line + 1


def is_null(node: Node) -> bool:
    return node.tag == f"{TAG}null"


def text_of(node: Node) -> str | None:
    """A scalar exactly as it was written (`on` stays `on`, `1.10` stays `1.10`), None for anything else."""
    return node.value if isinstance(node, ScalarNode) and not is_null(node) else None


def pairs(node: MappingNode) -> Iterator[tuple[Node, Node]]:
    yield from node.value


def items(node: SequenceNode) -> Iterator[Node]:
    yield from node.value


def plain(node: MappingNode) -> dict[str, object]:
    """A mapping as JSON values. Raises NotPlain."""
    return _Plain().mapping(node, 0)


def plain_value(node: Node) -> object:
    """Anything as a JSON value. Raises NotPlain."""
    return _Plain().value(node, 0)


@dataclass(slots=True)
class _Plain:
    """Aliases make a small text stand for a huge or endless tree, so what is unfolded is counted."""

    seen: int = 0

    def value(self, node: Node, depth: int) -> object:
        self.seen += 1
        if self.seen > LIMIT_VALUES or depth > LIMIT_DEPTH:
            raise NotPlain("it is too large or nested too deeply")
        if isinstance(node, MappingNode):
            return self.mapping(node, depth)
        if isinstance(node, SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return _scalar(node)

    def mapping(self, node: MappingNode, depth: int) -> dict[str, object]:
        return {self._key(key): self.value(item, depth + 1) for key, item in pairs(node)}

    def _key(self, node: Node) -> str:
        key = text_of(node)
        if key is None:
            raise NotPlain("a key in it is not plain text")
        return key


def _scalar(node: Node) -> object:
    text = str(node.value)
    match node.tag.removeprefix(TAG):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() in ("true", "yes", "on")
        case "int" if WHOLE_NUMBER.fullmatch(text):
            return int(text)
        case "float":
            return _float(text)
        case _:
            raise NotPlain("one of its values is no text, number, yes/no, list or mapping; quote it if it is text")


def _float(text: str) -> float:
    try:
        return float(text) if math.isfinite(float(text)) else _no_number()
    except ValueError:
        return _no_number()


def _no_number() -> NoReturn:
    raise NotPlain("one of its numbers is not a finite number in decimal digits")
