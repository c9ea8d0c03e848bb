"""A YAML text with one value changed, and every other byte as the person wrote it.

The places come from the parser's own marks, and nothing is written out anew: comments, order, quotes, indentation,
anchors and line ends stay because nobody touches them. What came of an edit is read again and compared; where it says
anything but what was asked for, or lost a comment, it is refused.
"""

from __future__ import annotations

from msgspec import Struct
from yaml import Node
from yaml.nodes import MappingNode, ScalarNode

from agent.config.layers import nested
from agent.config.yaml_shape import shape, value_at
from agent.config.yaml_text import block, flow
from agent.config.yaml_tree import NotYaml, line_of, pairs, parse, text_of
from agent.config.yaml_words import Words

Path = tuple[str, ...]
INDENT = 2  # where the file has no indentation of its own


class NotEditable(Exception):
    """A change can't be made without touching something else. `line` is where to look."""

    def __init__(self, line: int | None) -> None:
        super().__init__("it is written in a way that can't be changed here alone")
        self.line = line


def with_value(text: str, path: Path, value: Node) -> str:
    """The text in which a path has this value. Raises NotYaml, NotEditable."""
    root = parse(text)
    edit = _Edit(text, root)
    return _checked(text, edit.with_value(path, value), root, path, value)


def without(text: str, path: Path) -> str | None:
    """The text without a path, None where it has none. Raises NotYaml, NotEditable."""
    root = parse(text)
    if value_at(root, path) is None:
        return None
    edited = _Edit(text, root).without(path)
    return _checked(text, edited, root, path, None)


def _checked(text: str, edited: str, root: Node | None, path: Path, value: Node | None) -> str:
    try:
        changed = parse(edited)
        found = value_at(changed, path)
        is_done = shape(found) == shape(value) and shape(changed, path) == shape(root, path)
        if is_done and Words(edited).comments() >= Words(text).comments():
            return edited
    except (NotYaml, RecursionError):
        pass  # the same as any other edit that came out wrong
    raise NotEditable(_line(root, path))


def _line(root: Node | None, path: Path) -> int | None:
    """The line of as much of the path as there is."""
    nodes = (value_at(root, path[:length]) for length in range(len(path), -1, -1))
    return next((line_of(node) for node in nodes if node is not None), None)


class _Pair(Struct, frozen=True):
    """One `key: value` of a mapping. It ends before `limit`, where the next one or something else begins."""

    mapping: MappingNode
    key: Node
    value: Node
    limit: int


class _Edit:
    def __init__(self, text: str, root: Node | None) -> None:
        self._text = text
        self._root = root
        self._words = Words(text)
        self._end = "\r\n" if "\r\n" in text else "\n"

    def with_value(self, path: Path, value: Node) -> str:
        """Replace the value where the path is there; add what is missing of it where it is not."""
        mapping, pair = self._root, None
        for depth, part in enumerate(path):
            if not isinstance(mapping, MappingNode):
                return self._filled(pair, path[depth:], value)
            found = self._pair(mapping, part)
            if found is None:
                return self._added(mapping, path[depth:], value)
            mapping, pair = found.value, found
        assert pair is not None
        return self._replaced(pair, value)

    def without(self, path: Path) -> str:
        mapping = value_at(self._root, path[:-1])
        assert isinstance(mapping, MappingNode)
        pair = self._pair(mapping, path[-1])
        assert pair is not None
        return self._flow_removed(pair) if mapping.flow_style else self._lines_removed(pair)

    # --- inside

    def _pair(self, mapping: MappingNode, name: str) -> _Pair | None:
        found = [*pairs(mapping)]
        limits = [*(_start(key) for key, _ in found[1:]), mapping.end_mark.index - bool(mapping.flow_style)]
        every = zip(found, limits, strict=False)
        return next(
            (_Pair(mapping, key, value, limit) for (key, value), limit in reversed([*every]) if text_of(key) == name),
            None,
        )

    def _replaced(self, pair: _Pair, value: Node) -> str:
        after, start = self._value_start(pair)
        if start is None:
            return self._filled(pair, (), value)
        last = self._words.last_before(start, pair.limit)
        end = start if last is None else last.end
        quote = self._text[start] if isinstance(pair.value, ScalarNode) and self._text[start] in "'\"" else ""
        written = flow(value, quote)
        if "\n" in self._text[after:start]:  # what stood under the key comes beside it
            start, written = after, f" {written}"
        kept = self._words.comments_in(start, end)
        line = self._line_start(_start(pair.key))
        indent = " " * pair.key.start_mark.column
        moved = "".join(f"{indent}{text}{self._end}" for text in kept)
        return self._text[:line] + moved + self._text[line:start] + written + self._text[end:]

    def _value_start(self, pair: _Pair) -> tuple[int, int | None]:
        """Where the key, its colon and an anchor end, and where the value begins; None where there is none."""
        colon = self._words.at(pair.key.end_mark.index)
        at = colon.end if colon is not None else pair.limit
        while (word := self._words.at(at)) is not None and word.start < pair.limit:
            if not self._text[word.start : word.end].startswith(("&", "!")):
                return at, None if word.is_comma else word.start
            at = word.end
        return at, None

    def _filled(self, pair: _Pair | None, rest: Path, value: Node) -> str:
        """Give a key without a value one, or an empty file its first line."""
        if pair is None:
            return self._new_line(len(self._text), block(rest, value, 0, self._step(), self._end))
        last = self._words.last_before(_start(pair.key), pair.limit)
        at = pair.key.end_mark.index if last is None else last.end
        if self._value_start(pair)[1] is not None:
            return self._replaced(pair, nested(rest, value))
        if not rest or pair.mapping.flow_style:
            return f"{self._text[:at]} {flow(nested(rest, value))}{self._text[at:]}"
        indent = pair.key.start_mark.column + self._step()
        return self._new_line(self._line_end(at), block(rest, value, indent, self._step(), self._end))

    def _added(self, mapping: MappingNode, rest: Path, value: Node) -> str:
        """A new last pair of a mapping."""
        found = [*pairs(mapping)]
        start, limit = mapping.start_mark.index, mapping.end_mark.index
        if mapping.flow_style:
            last = self._words.last_before(start, limit - 1)
            at = limit - 1 if last is None else last.end
            quote = '"' if found and self._text.startswith('"', _start(found[-1][0])) else ""
            new = flow(nested(rest, value), quote)[1:-1]
            return f"{self._text[:at]}{', ' if found else ''}{new}{self._text[at:]}"
        last = self._words.last_before(start, limit)
        at = self._line_end(limit if last is None else last.end)
        indent = found[0][0].start_mark.column
        return self._new_line(at, block(rest, value, indent, self._step(), self._end))

    def _lines_removed(self, pair: _Pair) -> str:
        start = self._line_start(_start(pair.key))
        last = self._words.last_before(start, pair.limit)
        end = self._line_end(pair.limit if last is None else last.end)
        indent = self._text[start : _start(pair.key)]
        kept = self._words.comments_in(start, end)
        return self._text[:start] + "".join(f"{indent}{text}{self._end}" for text in kept) + self._text[end:]

    def _flow_removed(self, pair: _Pair) -> str:
        start, end = _start(pair.key), pair.limit
        if end == pair.mapping.end_mark.index - 1:  # the last one takes the comma before it along
            last = self._words.last_before(start, end)
            end = end if last is None else last.end
            before = self._words.last_before(pair.mapping.start_mark.index + 1, start)
            start = start if before is None else before.end
        kept = self._words.comments_in(start, end)
        return self._text[:start] + "".join(f" {text}{self._end}" for text in kept) + self._text[end:]

    def _new_line(self, at: int, line: str) -> str:
        """A line put in at a line's start; a file without a last line end is left without one."""
        before, after = self._text[:at], self._text[at:]
        if before and not before.endswith(("\n", "\r")):
            return f"{before}{self._end}{line}{after}"
        return f"{before}{line}{self._end}{after}"

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """The start of the next line, or the end of the text."""
        return self._text.find("\n", at) + 1 or len(self._text)

    def _step(self) -> int:
        """How far the file indents, by the first mapping inside its top one."""
        for key, value in pairs(self._root) if isinstance(self._root, MappingNode) else ():
            if isinstance(value, MappingNode) and not value.flow_style and value.start_mark.line > key.start_mark.line:
                return value.start_mark.column - key.start_mark.column
        return INDENT


def _start(node: Node) -> int:
    return node.start_mark.index
