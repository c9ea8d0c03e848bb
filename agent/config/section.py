"""One mapping of the settings as all layers give it, read key by key, with a sentence for what does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeGuard, TypeVar

from msgspec import Struct
from yaml import Node
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from agent.config.layers import PROJECT, USER, Layer, nested
from agent.config.problem import Problem
from agent.config.table import join_key
from agent.config.takes import TAKES, Takes
from agent.config.yaml_tree import WHOLE_NUMBER, NotPlain, is_null, items, line_of, pairs, plain, text_of

Value = TypeVar("Value")

SHOWABLE_KEY = re.compile(r"[\w./@-]{1,60}")
DECIMAL = re.compile(r"[+-]?\d{1,12}(\.\d{0,12})?")
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

        return self._highest(key, read, _instead(default))

    def decimal(self, key: str, low: float, high: float, default: float | None) -> float | None:
        def read(node: Node) -> float:
            text = text_of(node) or ""
            number = float(text) if DECIMAL.fullmatch(text) else None
            if number is None or not low <= number <= high:
                raise NotTaken(f"takes a number from {low:g} to {high:g}")
            return number

        return self._highest(key, read, _instead(default))

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

    def joined(self, key: str, takes: Takes) -> tuple[str, ...] | None:
        """The lists of all layers as one, the lowest first. A wrong entry is told and left out, and the others hold."""
        joined: dict[str, None] = {}
        for found in self._take(key):
            texts = _words(found.value)
            if texts is None:
                self._tell(found, key, f"takes a list of {takes.allowed}.")
                continue
            wrong = [text for text in texts if takes.complaint(text)]
            if wrong:
                self._tell(found, key, f"takes {takes.allowed}; {len(wrong)} of {len(texts)} are left out.")
            joined |= dict.fromkeys(text for text in texts if text not in wrong)
            self.notes.origins[self.key(key)] = found.layer.name
        return tuple(joined) or None

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

    def headers(self, key: str) -> dict[str, str]:
        """A mapping of the names of headers to their texts, each checked by itself."""
        inner = self.section(key)
        taken: dict[str, str] = {}
        for name in tuple(inner._found):
            complaint = TAKES["header_name"].complaint(name)
            if complaint:
                inner._leave_out(name, complaint)
            elif (value := inner.text(name, TAKES["header"])) is not None:
                taken[name] = value
        return taken

    def lists(self, key: str, names: Takes, texts: Takes) -> dict[str, tuple[str, ...]]:
        """A mapping of names to lists, each checked by itself."""
        inner = self.section(key)
        taken: dict[str, tuple[str, ...]] = {}
        for name in tuple(inner._found):
            if complaint := names.complaint(name):
                inner._leave_out(name, complaint)
            elif (value := inner.names(name, texts)) is not None:
                taken[name] = value
        return taken

    def section(self, key: str) -> Section:
        found = self._take(key)
        for item in found:
            if not isinstance(item.value, MappingNode):
                self._tell(item, key, "takes `name: value` lines.")
        return Section([(item.layer, item.value) for item in found], (*self.keys, key), self.notes)

    def sections(self, key: str, takes: Takes, short_for: str = "") -> dict[str, Section]:
        """A mapping whose keys the person chose, each with a section of its own; a text may say `short_for` of it."""
        outer = self.section(key)
        if short_for:
            for name in tuple(outer._found):
                outer.long_form(name, short_for)
        inner: dict[str, Section] = {}
        for name in tuple(outer._found):
            complaint = takes.complaint(name)
            if complaint:
                outer._leave_out(name, complaint)
            else:
                inner[name] = outer.section(name)
        return inner

    def long_form(self, key: str, inner: str) -> None:
        """Let `key: text` say `key: {inner: text}`."""
        if key in self._found:
            self._found[key] = [_in_long(item, inner) for item in self._found[key]]

    def unused(self, key: str) -> None:
        """Say of a key that is taken but does nothing yet."""
        for item in self._found.get(key, []):
            if not is_null(item.value):
                self._tell(item, key, "is kept for a later version: nothing uses it yet.", is_remark=True)

    def leave_out_projects(self, key: str) -> None:
        """Say of what a project's file gives that only the person's own settings do."""
        found = self._found.get(key, [])
        for item in found:
            if item.layer.name == PROJECT:
                self._tell(item, key, "is left out: only your own settings say this, never those of a project.")
        if found:
            self._found[key] = [item for item in found if item.layer.name != PROJECT]

    def leave_out_looser(self, key: str, strictness: Sequence[str]) -> None:
        """Say of what a project's file gives that it is looser than the person's own settings, which hold then."""

        def level(item: Found) -> int:
            text = (text_of(item.value) or "").lower()
            return strictness.index(text) if text in strictness else -1

        found = self._found.get(key, [])
        mine = max((level(item) for item in found if item.layer.name == USER), default=-1)
        looser = [item for item in found if item.layer.name == PROJECT and 0 <= level(item) < mine]
        for item in looser:
            self._tell(item, key, "is left out: a project can only make this stricter than your own settings do.")
        if looser:
            self._found[key] = [item for item in found if item not in looser]

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


def _instead(default: float | None) -> Callable[[float | None], str]:
    """What to say of the number that holds in the place of a wrong one."""

    def told(used: float | None) -> str:
        used = default if used is None else used
        return "; it counts as unknown." if used is None else f"; {used:g} is used."

    return told


def _in_long(found: Found, inner: str) -> Found:
    if text_of(found.value) is None:
        return found
    return Found(found.key, nested((inner,), found.value), found.layer)


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
