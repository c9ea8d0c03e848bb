"""Comparing what two YAML texts say."""

from __future__ import annotations

from itertools import count

from yaml import Node
from yaml.nodes import MappingNode, SequenceNode

from agent.config.yaml_tree import is_null, items, pairs, text_of

Shape = tuple[object, ...]


def shape(node: Node | None, leaving_out: tuple[str, ...] = ()) -> Shape:
    """What a tree says, in order, without what stands at a path and without what is empty on the way there.

    A part that an alias repeats is said once and named afterwards: unfolding could take for ever.
    """
    return _Shape().of(node, leaving_out)


class _Shape:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._count = count()

    def of(self, node: Node | None, path: tuple[str, ...] = ()) -> Shape:
        if node is None or (path and is_null(node)):
            return ()
        if self._numbers.get(id(node), -1) >= 0:  # what was on the way and stands elsewhere, too, is said in full there
            return ("again", self._numbers[id(node)])
        # What is on the way may be there in one of two texts only, and must not count in the other.
        self._numbers[id(node)] = -len(path) if path else next(self._count)
        match node:
            case MappingNode():
                return self._mapping(node, path)
            case SequenceNode():
                return ("list", node.tag, *(self.of(item) for item in items(node)))
            case _ if is_null(node):
                return ("nothing",)
            case _:
                return ("text", node.tag, str(node.value))

    def _mapping(self, node: MappingNode, path: tuple[str, ...]) -> Shape:
        said: list[object] = []
        for key, value in pairs(node):
            is_on_path = bool(path) and text_of(key) == path[0]
            if is_on_path and len(path) == 1:
                continue
            inner = self.of(value, path[1:] if is_on_path else ())
            if not is_on_path or inner:
                said.append((self.of(key), inner))
        return ("map", node.tag, *said) if said or not path else ()


def value_at(node: Node | None, path: tuple[str, ...]) -> Node | None:
    """What stands at a path; of a key that is written twice, the later one."""
    for part in path:
        if not isinstance(node, MappingNode):
            return None
        node = next((value for key, value in reversed([*pairs(node)]) if text_of(key) == part), None)
    return node
