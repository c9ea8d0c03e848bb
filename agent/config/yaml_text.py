"""Values as YAML text, so that every reader of YAML reads them as they were meant."""

from __future__ import annotations

import json
import re

from yaml import Node
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from agent.config.yaml_tree import TAG, NotYaml, items, pairs, parse

_UNPRINTABLE = re.compile(r"[^\x20-\x7e\xa0-\ufefe\uff00-\uffef\U00010000-\U0010ffff]|[\u2028\u2029\ufffe\uffff]")
_PLAIN_TAGS = (f"{TAG}int", f"{TAG}float", f"{TAG}bool", f"{TAG}null")


def flow(node: Node, quote: str = "") -> str:
    """A value on one line. `quote` is how texts are quoted; "" quotes only those that need it."""
    match node:
        case MappingNode():
            inner = (f"{flow(key, quote)}: {flow(value, quote)}" for key, value in pairs(node))
            return "{" + ", ".join(inner) + "}"
        case SequenceNode():
            return "[" + ", ".join(flow(item, quote) for item in items(node)) + "]"
        case ScalarNode() if node.tag in _PLAIN_TAGS:
            return str(node.value) or "null"
        case _:
            return quoted(str(node.value), quote)


def block(path: tuple[str, ...], value: Node, indent: int, step: int, end: str) -> str:
    """`a:` over `  b: value`, without a line end after the last line."""
    lines = [f"{' ' * (indent + depth * step)}{quoted(part)}:" for depth, part in enumerate(path)]
    return f"{end.join(lines)} {flow(value)}"


def quoted(text: str, quote: str = "") -> str:
    """A text in the given quotes where they can hold it, without any where none are needed, else in double ones."""
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if quote == "" and _reads_as_itself(text):
        return text
    return _UNPRINTABLE.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _reads_as_itself(text: str) -> bool:
    if not text.isprintable():
        return False
    try:
        return all(_is_text(parse(written), text) for written in (f"k: {text}\n", f"{{k: {text}}}", f"{text}: k\n"))
    except NotYaml:
        return False


def _is_text(node: Node | None, text: str) -> bool:
    """Whether the one key or the one value of a mapping is this text and nothing else."""
    if not isinstance(node, MappingNode):
        return False
    found = [item for pair in pairs(node) for item in pair]
    return len(found) == 2 and any(item.tag == f"{TAG}str" and item.value == text for item in found)


def _escaped(found: re.Match[str]) -> str:
    return f"\\U{ord(found[0]):08X}"
