"""One mapping of the settings as all layers give it, read key by key, with a sentence for what does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeGuard, TypeVar

from msgspec import Struct
from yaml import Node
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from agent.config.layers import Layer, nested
from agent.config.problem import Problem
from agent.config.table import join_key
from agent.config.takes import Takes
from agent.config.yaml_tree import WHOLE_NUMBER, NotPlain, is_null, items, line_of, pairs, plain, text_of

Value = TypeVar("Value")

SHOWABLE_KEY = re.compile(r"[\w./@-]{1,60}")
ADVICE = {
    "api_key": "keys belong in .env; give the name of the variable in key_env",
    "<<": "merge keys are not read; write the settings out",
}


class NotTaken(Exception):
    """A value is no such setting. The text says what is wrong, after the key."""


class Found(Struct, frozen=True):
    """A key in one layer."""

    key: Node
    value: Node
    layer: Layer


class Notes(Struct, frozen=True):
    """What reading leaves behind beside the values: problems, and the layer of each value by its key."""

    problems: list[Problem]
    origins: dict[str, str]


class Section:
    """Reading takes a key out of the mapping; `finish` remarks on the keys that nobody took.

    `nodes` are lowest first. A value of a higher layer stands over that of a lower one, and a bad one is passed over.
    """

    def __init__(self, nodes: Sequence[tuple[Layer, Node]], keys: tuple[str, ...], notes: Notes) -> None:
        self.keys = keys
        self.path = ".".join(key if SHOWABLE_KEY.fullmatch(key) else "(a key)" for key in keys)
        self.notes = notes
        self._found: dict[str, list[Found]] = {}
        self._known: list[str] = []
        for layer, node in nodes:
            if isinstance(node, MappingNode):
                self._add_all(layer, node)

    def text(self, key: str, takes: Takes) -> str | None:
        """A text exactly as it was written, None when it is not given or wrong."""

        def read(node: Node) -> str:
            text = text_of(node)
            complaint = "takes text" if text is None else takes.complaint(text)
            if text is None or complaint:
                raise NotTaken(complaint)
            return text

        return self._highest(key, read)

    def whole(self, key: str, low: int, high: int, default: int | None) -> int | None:
        def read(node: Node) -> int:
            text = text_of(node) or ""
            number = int(text) if WHOLE_NUMBER.fullmatch(text) else None
            if number is None or not low <= number <= high:
                raise NotTaken(f"takes a whole number from {low} to {high}")
            return number

        def instead(used: int | None) -> str:
            used = default if used is None else used
            return "; it counts as unknown." if used is None else f"; {used} is used."

        return self._highest(key, read, instead)

    def choice(self, key: str, choices: Mapping[str, Value]) -> Value | None:
        def read(node: Node) -> Value:
            text = (text_of(node) or "").lower()
            if text not in choices:
                raise NotTaken(f"takes one of: {', '.join(choices)}")
            return choices[text]

        return self._highest(key, read)

    def names(self, key: str, takes: Takes) -> tuple[str, ...] | None:
        """A list of texts; a single text stands for a list of what lies between its commas."""

        def read(node: Node) -> tuple[str, ...]:
            texts = _words(node)
            complaint = next((takes.complaint(text) for text in texts or () if takes.complaint(text)), "")
            if texts is None or complaint:
                raise NotTaken(f"takes a list of {takes.allowed}")
            return texts

        return self._highest(key, read)

    def command(self, key: str) -> str | tuple[str, ...] | None:
        def read(node: Node) -> str | tuple[str, ...]:
            words = text_of(node) if isinstance(node, ScalarNode) else _words(node)
            if not words or "\0" in "".join(words):
                raise NotTaken("takes a command, or a list of its words")
            return words

        return self._highest(key, read)

    def body(self, key: str) -> dict[str, object] | None:
        """A mapping that is handed on as it is, merged over all layers."""

        def read(node: Node) -> dict[str, object]:
            if not isinstance(node, MappingNode):
                raise NotTaken("takes `name: value` lines")
            try:
                return plain(node)
            except NotPlain as error:
                raise NotTaken(f"is left out: {error}") from error

        merged: dict[str, object] = {}
        for found in self._take(key):
            try:
                merged = merge(merged, read(found.value))
            except NotTaken as error:
                self._tell(found, key, f"{error}.")
            else:
                self.notes.origins[self.key(key)] = found.layer.name
        return merged or None

    def section(self, key: str) -> Section:
        found = self._take(key)
        for item in found:
            if not isinstance(item.value, MappingNode):
                self._tell(item, key, "takes `name: value` lines.")
        return Section([(item.layer, item.value) for item in found], (*self.keys, key), self.notes)

    def sections(self, key: str, takes: Takes) -> dict[str, Section]:
        """A mapping whose keys the person chose, each with a section of its own."""
        outer = self.section(key)
        inner: dict[str, Section] = {}
        for name in tuple(outer._found):
            complaint = takes.complaint(name)
            if complaint:
                outer._leave_out(name, complaint)
            else:
                inner[name] = outer.section(name)
        return inner

    def long_form(self, key: str, inner: str) -> None:
        """Let `key: text` say `key: {inner: text}`. It says all: what lower layers have under the key is dropped."""
        kept: list[Found] = []
        for item in self._found.get(key, []):
            if text_of(item.value) is None:
                kept.append(item)
            else:
                kept = [Found(item.key, nested((inner,), item.value), item.layer)]
        if kept:
            self._found[key] = kept

    def unused(self, key: str) -> None:
        """Say of a key that is taken but does nothing yet."""
        for item in self._found.get(key, []):
            if not is_null(item.value):
                self._tell(item, key, "is kept for a later version: nothing uses it yet.", is_remark=True)

    def flaw(self, keys: Sequence[str]) -> str:
        """The first problem with one of these keys, or with the section itself; "" for none."""
        names = {self.path, *(self.name(key) for key in keys)}
        told = (item.sentence for item in self.notes.problems if item.key in names and not item.is_remark)
        return next(told, "")

    def finish(self) -> None:
        for key, found in self._found.items():
            for item in found:
                self._tell(item, key, self._advice(key), is_remark=True)

    def key(self, key: str) -> str:
        """The full key, as a person writes it to `hermes config`."""
        return join_key((*self.keys, key))

    def name(self, key: str) -> str:
        """The full key to show: what somebody pasted into the wrong place is not repeated."""
        shown = key if SHOWABLE_KEY.fullmatch(key) else "(a key)"
        return f"{self.path}.{shown}" if self.path else shown

    # --- inside

    def _add_all(self, layer: Layer, node: MappingNode) -> None:
        seen: set[str] = set()
        for key, value in pairs(node):
            item, name = Found(key, value, layer), text_of(key)
            if name is None:
                self._tell(item, "", "a name here is not plain text; it is left out.", is_remark=True)
                continue
            found = self._found.setdefault(name, [])
            if name in seen:
                self._tell(item, name, "is written twice; the later one holds.", is_remark=True)
                found.pop()
            seen.add(name)
            found.append(item)

    def _take(self, key: str) -> list[Found]:
        """What the layers say under a key; an empty value (`theme:`) says nothing."""
        self._known.append(key)
        return [item for item in self._found.pop(key, []) if not is_null(item.value)]

    def _highest(
        self, key: str, read: Callable[[Node], Value], instead: Callable[[Value | None], str] | None = None
    ) -> Value | None:
        value: Value | None = None
        wrong: list[tuple[Found, str, bool]] = []
        for found in reversed(self._take(key)):
            try:
                taken = read(found.value)
            except NotTaken as error:
                wrong.append((found, str(error), value is not None))
                continue
            if value is None:
                value = taken
                self.notes.origins[self.key(key)] = found.layer.name
        for found, complaint, is_hidden in reversed(wrong):
            self._tell(found, key, f"{complaint}{instead(value) if instead else '.'}", is_remark=is_hidden)
        return value

    def _leave_out(self, name: str, complaint: str) -> None:
        """Say that a key itself is wrong."""
        for item in self._found.pop(name):
            self._tell(item, "", f"{complaint}; this one is left out.")

    def _advice(self, key: str) -> str:
        if key in ADVICE:
            return f"is ignored: {ADVICE[key]}."
        close = get_close_matches(key, self._known, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"is not a setting of this version and is ignored.{hint}"

    def _tell(self, found: Found, key: str, text: str, *, is_remark: bool = False) -> None:
        """A problem with a value, or with the section where `key` is empty."""
        name = self.name(key) if key else self.path
        spelled = found.layer.spelled(name)
        line = line_of(found.value if not is_remark else found.key)
        self.notes.problems.append(
            Problem(found.layer.file, f"{spelled} {text}" if spelled else text, line, name, is_remark)
        )


def merge(lower: Mapping[str, object], higher: Mapping[str, object]) -> dict[str, object]:
    """One mapping over another, key by key, as deep as both are mappings."""
    merged = dict(lower)
    for key, value in higher.items():
        under = merged.get(key)
        merged[key] = merge(under, value) if _is_mapping(under) and _is_mapping(value) else value
    return merged


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def _words(node: Node) -> tuple[str, ...] | None:
    if isinstance(node, SequenceNode):
        texts = [text_of(item) for item in items(node)]
        return None if None in texts else tuple(text for text in texts if text is not None)
    text = text_of(node)
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
